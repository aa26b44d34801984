// Who may speak to whom beyond this machine: a host that has paired robots, a robot that has paired
// with that host, and both only with a clock by which a certificate can be good.

import type { LinkAddress } from "./address.ts";
import { PairingError } from "./pair-error.ts";
import type { PairedHost, PairStore } from "./pair-store.ts";
import type { HostIdentity } from "./tls-certificates.ts";
import { clockTrouble } from "./tls-trouble.ts";

/** What a robot needs to speak to the host at this address. Throws PairingError. */
export function needPairedHost(
  store: PairStore,
  { host, target }: LinkAddress,
  wallMs: number,
): PairedHost {
  const action = `Cannot use the policy host ${target}`;
  needClock(action, wallMs);
  const paired = store.host(host);
  if (paired === undefined) {
    const names = store.hosts().map(({ name }) => name);
    const found = names.length === 0 ? "none" : `one with ${names.join(", ")}`;
    throw new PairingError(
      action,
      `a pairing with ${host} (on that machine type holdfast pair host, and here what it prints)`,
      found,
    );
  }
  if (!paired.isRevoked && !store.isRevokedHost(paired.fingerprint)) return paired;
  const expected = "a host that was not revoked here (pair again: there type holdfast pair host)";
  throw new PairingError(action, expected, "one that was, by holdfast pair revoke");
}

/** What a host needs to be reached from other machines. Throws PairingError. */
export function needIdentity(store: PairStore, target: string, wallMs: number): HostIdentity {
  const action = `Cannot listen on ${target}`;
  needClock(action, wallMs);
  const identity = store.identity();
  if (identity !== undefined && store.robots().some(({ isRevoked }) => !isRevoked)) return identity;
  const expected = "a paired robot (type holdfast pair host; on this machine alone: 127.0.0.1)";
  throw new PairingError(action, expected, "none");
}

function needClock(action: string, wallMs: number): void {
  const trouble = clockTrouble(wallMs);
  if (trouble !== undefined) throw new PairingError(action, trouble.expected, trouble.found);
}
