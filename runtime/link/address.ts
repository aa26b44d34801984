// Addresses of the policy link: where a host listens and where an edge dials. Anything that is not
// this machine alone needs paired certificates on both sides; what cannot be read is refused.

import { isIPv4, isIPv6 } from "node:net";

export type LinkAddress = {
  /** As grpc-js wants it: `host:port`, `[ipv6]:port`. */
  readonly target: string;
  readonly host: string;
  readonly port: number;
  readonly isLoopback: boolean;
};

export const DEFAULT_LINK_PORT = 7_777;
/** Where a host listens unless it is told. */
export const DEFAULT_LISTEN = `127.0.0.1:${DEFAULT_LINK_PORT}`;
const PORT_MAX = 65_535;
const SCHEME = "grpc://";

/** True for what `--policy` reads as a policy on another machine. */
export const isRemote = (policy: string): boolean => /^(?:grpc|openpi):\/\//.test(policy);

/** Reads `host`, `host:port`, `[ipv6]:port`, each with or without `grpc://`; undefined else. */
export function parseAddress(text: string): LinkAddress | undefined {
  const body = text.startsWith(SCHEME) ? text.slice(SCHEME.length) : text;
  const [, ipv6, name, digits] = /^(?:\[([^\]]+)\]|([^:/\s[\]]+))(?::(\d{1,5}))?$/.exec(body) ?? [];
  const host = ipv6 ?? name;
  const port = digits === undefined ? DEFAULT_LINK_PORT : Number(digits);
  if (host === undefined || port > PORT_MAX) return undefined;
  if (ipv6 !== undefined && !isIPv6(ipv6)) return undefined;
  const target = ipv6 === undefined ? `${host}:${port}` : `[${host}]:${port}`;
  return { target, host, port, isLoopback: isLoopback(host) };
}

/** The same, for an address to dial: nobody listens at port 0. */
export function parseDialAddress(text: string): LinkAddress | undefined {
  const address = parseAddress(text);
  return address?.port === 0 ? undefined : address;
}

function isLoopback(host: string): boolean {
  if (isIPv4(host)) return host.startsWith("127.");
  return host === "localhost" || host === "::1";
}
