// The address by which other machines reach this one, for lines that say what to type there. A
// guess where there are several networks: the first.

import { hostname, networkInterfaces } from "node:os";
import { DEFAULT_LINK_PORT } from "../link/address.ts";
import type { LinkAddress } from "../link/address.ts";

const EVERYWHERE = new Set(["0.0.0.0", "::"]);

/** What a robot dials to reach a listener at `address`, without the port when it is the usual. */
export function dialText(address: Pick<LinkAddress, "host">, port: number): string {
  const host = EVERYWHERE.has(address.host) ? ownHost() : address.host;
  const shown = host.includes(":") ? `[${host}]` : host;
  return port === DEFAULT_LINK_PORT ? shown : `${shown}:${port}`;
}

/** The first address of a network, or this machine's name where there is none. */
function ownHost(): string {
  const all = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  return all.find(({ family, internal }) => family === "IPv4" && !internal)?.address ?? hostname();
}
