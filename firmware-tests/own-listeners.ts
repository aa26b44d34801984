// Where a process can be reached over a network, as the kernel shows it: every address that one of
// its sockets is bound to for others to find, IPv4 and IPv6, TCP and UDP.

import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** A row has its address, its state and its inode here. */
const ADDRESS = 1;
const STATE = 3;
const INODE = 9;
/** In hexadecimal: a TCP socket that listens; a UDP socket has no peer. */
const LISTEN = "0A";
const NO_PEER = "07";
const tables = { tcp: LISTEN, tcp6: LISTEN, udp: NO_PEER, udp6: NO_PEER } as const;

/** `127.0.0.1:8080`; one of IPv6 as the kernel's own hexadecimal. */
export function listenersOf(pid: number): string[] {
  const inodes = inodesOf(pid);
  return Object.entries(tables).flatMap(([name, state]) =>
    readFileSync(`/proc/${pid}/net/${name}`, "utf8")
      .split("\n")
      .slice(1)
      .map((line) => line.trim().split(/\s+/))
      .filter((row) => row[STATE] === state && inodes.has(row[INODE] ?? ""))
      .map((row) => addressOf(row[ADDRESS] ?? "")),
  );
}

function inodesOf(pid: number): Set<string> {
  const folder = `/proc/${pid}/fd`;
  const targets = readdirSync(folder).map((fd) => targetOf(`${folder}/${fd}`));
  return new Set(targets.flatMap((target) => /^socket:\[(\d+)\]$/.exec(target)?.[1] ?? []));
}

function targetOf(link: string): string {
  try {
    return readlinkSync(link);
  } catch {
    return ""; // closed since it was listed
  }
}

/** The kernel writes an address of IPv4 as one word in the machine's own byte order. */
function addressOf(hex: string): string {
  const [host = "", port = ""] = hex.split(":");
  const portText = Number.parseInt(port, 16);
  if (host.length !== 8) return `${host}:${portText}`;
  const bytes = [...Buffer.from(host, "hex")].reverse();
  return `${bytes.join(".")}:${portText}`;
}
