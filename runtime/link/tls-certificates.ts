// What is said of certificates wherever they are used: their fixed name, their years, and the
// fingerprints of their keys. Making them is tls-authority.ts, which is heavy and loads only where
// machines are paired.

import { createHash, X509Certificate } from "node:crypto";

/** What every host's certificate is for, whatever its address: .internal is nobody's domain. */
export const HOST_TLS_NAME = "host.holdfast.internal";
/** What clocks must lie between. */
export const VALID_FROM_MS = Date.UTC(2020, 0, 1);
export const VALID_UNTIL_MS = Date.UTC(2046, 0, 1);

/** Both in PEM. */
export type KeyPair = { readonly key: string; readonly certificate: string };

export type HostIdentity = { readonly authority: KeyPair; readonly host: KeyPair };

/** A moment as a person reads it. */
export const clockText = (wallMs: number): string =>
  new Date(wallMs).toISOString().slice(0, 16).replace("T", " ");

/** Of the public key in a certificate, PEM or DER. */
export function certificateFingerprint(certificate: string | Uint8Array): string {
  const { publicKey } = new X509Certificate(certificate);
  return keyFingerprint(publicKey.export({ type: "spki", format: "der" }));
}

/** Of a public key in its DER form. */
export const keyFingerprint = (publicKey: Uint8Array): string =>
  `SHA256:${createHash("sha256").update(publicKey).digest("base64url")}`;
