// Asks a host for a TLS handshake, to say why there is none: gRPC tells only that it cannot
// connect. A host that takes a robot speaks first; one that does not hangs up after the handshake,
// since in TLS 1.3 a robot has done its part before its certificate is judged.

import { connect } from "node:tls";
import type { LinkAddress } from "./address.ts";
import { DIAL_NS_MAX } from "./limits.ts";
import type { PairedHost } from "./pair-store.ts";
import { HOST_TLS_NAME } from "./tls-certificates.ts";
import { REFUSED_BY_HOST, tlsTrouble } from "./tls-trouble.ts";
import type { TlsTrouble } from "./tls-trouble.ts";
import { judgeHost, robotContext } from "./tls-trust.ts";
import type { IsRevoked } from "./tls-trust.ts";

/** Undefined when the handshake went well, or nobody was there to shake hands with. */
export function probeTls(
  { host, port }: LinkAddress,
  paired: PairedHost,
  isRevoked: IsRevoked,
  wallMs: () => number,
): Promise<TlsTrouble | undefined> {
  const { promise, resolve } = Promise.withResolvers<TlsTrouble | undefined>();
  let isShaken = false;
  const socket = connect({
    host,
    port,
    servername: HOST_TLS_NAME,
    ALPNProtocols: ["h2"],
    secureContext: robotContext(paired),
    checkServerIdentity: (_name, certificate) => judgeHost(isRevoked)(HOST_TLS_NAME, certificate),
  });
  const timer = setTimeout(() => resolve(undefined), DIAL_NS_MAX / 1e6);
  socket.on("secureConnect", () => {
    isShaken = true;
  });
  socket.on("data", () => resolve(undefined));
  socket.on("error", (error: Error & { code?: string }) => {
    resolve(tlsTrouble(error.code ?? "", wallMs()));
  });
  socket.on("close", () => resolve(isShaken ? REFUSED_BY_HOST : undefined));
  return promise.finally(() => {
    clearTimeout(timer);
    socket.destroy();
  });
}
