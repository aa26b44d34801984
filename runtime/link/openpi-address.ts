// Addresses of openpi servers. openpi has neither TLS nor passwords, so only this machine's own
// addresses are taken; a server elsewhere is reached through a tunnel that has both.

import { parseDialAddress } from "./address.ts";
import type { LinkAddress } from "./address.ts";

const SCHEME = "openpi://";
/** Where openpi listens unless it is told. */
const DEFAULT_PORT = 8_000;

/** True for what `--policy` reads as an openpi server. */
export const isOpenpi = (policy: string): boolean => policy.startsWith(SCHEME);

/** Reads `openpi://HOST` or `openpi://HOST:PORT`; undefined else. */
export function parseOpenpiAddress(url: string): LinkAddress | undefined {
  const body = url.slice(SCHEME.length);
  return parseDialAddress(/:\d+$/.test(body) ? body : `${body}:${DEFAULT_PORT}`);
}

/** What a person types on the robot to have a server elsewhere at this machine's own address. */
export function tunnelHint({ host, port }: LinkAddress): string {
  const near = `127.0.0.1:${port}`;
  const tunnel = `ssh -N -L ${port}:${near} ${host}`;
  return `a server of this machine, for openpi has no TLS: ${tunnel} and openpi://${near}`;
}
