// What this machine is paired with, and how a pairing ends. Both read and write files only: a host
// or run that is live sees it at its next handshake, a host within a second.

import { oneOf } from "../profile/problem.ts";
import { PairStore } from "../link/pair-store.ts";
import { stateFolder } from "../workers/state-folder.ts";
import type { CommandContext } from "./command-context.ts";
import { printable } from "./output.ts";
import { quoted, UsageError } from "./usage.ts";

type Peer = { readonly name: string; readonly fingerprint: string; readonly isRevoked: boolean };

export function listPairs({ out, user, program }: CommandContext): void {
  const store = new PairStore(stateFolder(user.environment));
  const robots = store.robots();
  const hosts = store.hosts();
  if (robots.length + hosts.length === 0) {
    out.write(`not paired with anything: ${program} pair --help\n`);
    return;
  }
  const tell = (role: string, { name, fingerprint, isRevoked }: Peer): void => {
    out.write(`${role}  ${printable(name)}  ${fingerprint}${isRevoked ? "  revoked" : ""}\n`);
  };
  for (const robot of robots) tell("robot", robot);
  for (const host of hosts) tell("host ", host);
}

/** Throws UsageError. */
export function revokePair(name: string, { out, user }: CommandContext): void {
  const store = new PairStore(stateFolder(user.environment));
  const robot = store.robots().find((each) => each.name === name);
  const host = store.host(name);
  if (robot === undefined && host === undefined) {
    const peers = [...store.robots(), ...store.hosts()].filter((each) => !each.isRevoked);
    const names = peers.map((each) => each.name);
    const expected = names.length === 0 ? "something paired" : oneOf(names, name);
    throw new UsageError("NAME", expected, quoted(name));
  }
  const isOver = (role: string, peer: Peer): boolean => {
    if (peer.isRevoked) out.write(`${role} ${printable(peer.name)} was revoked already\n`);
    return peer.isRevoked;
  };
  if (robot !== undefined && !isOver("robot", robot)) {
    store.putRobot({ ...robot, isRevoked: true });
    out.write(`revoked robot ${robot.name}: this host refuses it from now on\n`);
  }
  if (host !== undefined && !isOver("host", host)) {
    store.putHost({ ...host, isRevoked: true });
    out.write(
      `revoked host ${printable(host.name)}: this robot refuses it from its next connection on\n`,
    );
  }
}
