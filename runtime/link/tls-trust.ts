// Mutual TLS of the policy link: what each side shows and believes, made of what pairing left. Only
// TLS 1.3, only the one authority, only the fixed name; and at every handshake the list of what was
// revoked is asked anew.

import { credentials, ServerCredentials } from "@grpc/grpc-js";
import type { ChannelCredentials } from "@grpc/grpc-js";
import { checkServerIdentity, createSecureContext } from "node:tls";
import type { PeerCertificate, SecureContext } from "node:tls";
import type { PairedHost } from "./pair-store.ts";
import { certificateFingerprint } from "./tls-certificates.ts";
import type { HostIdentity } from "./tls-certificates.ts";

/** Of the error that ends a handshake with a host that was revoked here. */
export const REVOKED_HERE = "ERR_REVOKED_HERE";

/** A stranger who stays silent is let go: a handshake is three packets. */
const HANDSHAKE_MS_MAX = 5_000;

/** True for keys that may not be used any more. */
export type IsRevoked = (fingerprint: string) => boolean;

/** What a robot shows its host. */
export const robotContext = ({ authority, certificate, key }: PairedHost): SecureContext =>
  createSecureContext({ ca: authority, cert: certificate, key, minVersion: "TLSv1.3" });

/** Judges a host whose certificate is good: its name, and whether it was revoked. */
export function judgeHost(
  isRevoked: IsRevoked,
): (name: string, certificate: PeerCertificate) => Error | undefined {
  return (name, certificate) => {
    if (isRevoked(certificateFingerprint(certificate.raw))) {
      return Object.assign(new Error("this host was revoked here"), { code: REVOKED_HERE });
    }
    return checkServerIdentity(name, certificate);
  };
}

export const robotCredentials = (host: PairedHost, isRevoked: IsRevoked): ChannelCredentials =>
  credentials.createFromSecureContext(robotContext(host), {
    checkServerIdentity: judgeHost(isRevoked),
  });

/** What a host shows its robots; none without a certificate of this host's authority gets in. */
export class HostCredentials extends ServerCredentials {
  constructor({ authority, host }: HostIdentity) {
    const context = { ca: authority.certificate, cert: host.certificate, key: host.key };
    const demands = { requestCert: true, rejectUnauthorized: true };
    super(
      { ...demands, handshakeTimeout: HANDSHAKE_MS_MAX },
      { ...context, minVersion: "TLSv1.3" },
    );
  }

  override _equals(other: ServerCredentials): boolean {
    return this === other;
  }
}
