// Opens the policy of another machine from a policy thread, in streaming and in lockstep alike. Its
// first words come before the thread is ready, so a host that is missing or does not fit ends the
// start, not the run.

import { credentials } from "@grpc/grpc-js";
import packageFacts from "../../package.json" with { type: "json" };
import { assert } from "../contracts/assert.ts";
import type { PictureReader, Policy } from "../contracts/policy.ts";
import type { StateLayout } from "../contracts/state.ts";
import { duration } from "../contracts/units.ts";
import { parseAddress } from "../link/address.ts";
import { openRemotePolicy } from "../link/grpc-remote.ts";
import { isOpenpi, parseOpenpiAddress } from "../link/openpi-address.ts";
import { openOpenpiPolicy } from "../link/openpi-socket.ts";
import type { RunPlan } from "./plan.ts";
import { SystemClock } from "./system-clock.ts";
import type { SessionOrigin } from "./system-clock.ts";
import { note } from "./thread.ts";

const NEVER = { stopped: false };

export type RemoteSurroundings = {
  readonly run: RunPlan;
  readonly layout: StateLayout;
  readonly origin: SessionOrigin;
  readonly pictures: PictureReader | undefined;
  /** No time passes until an answer comes, so none is too late. */
  readonly isLockstep: boolean;
};

/** Throws PolicyError. */
export function openRemote(url: string, surroundings: RemoteSurroundings): Promise<Policy> {
  if (isOpenpi(url)) return openOpenpi(url, surroundings);
  const { run, layout, origin, pictures, isLockstep } = surroundings;
  const { robot, task, seed } = run;
  const address = parseAddress(url);
  assert(address?.isLoopback === true, "an address of another machine was refused");
  const clock = new SystemClock(origin, duration(0), NEVER);
  return openRemotePolicy({
    target: address.target,
    credentials: credentials.createInsecure(),
    tlsName: undefined,
    facts: {
      robot,
      task,
      layout,
      manifestSha256: new Uint8Array(0),
      runtimeVersions: { holdfast: packageFacts.version, bun: Bun.version },
    },
    nowNs: () => clock.nowNs(),
    pictures,
    waitsForEver: isLockstep,
    seed,
    note,
  });
}

function openOpenpi(url: string, surroundings: RemoteSurroundings): Promise<Policy> {
  const { run, layout, origin, pictures, isLockstep } = surroundings;
  const { robot, seed, openpi } = run;
  const address = parseOpenpiAddress(url);
  assert(address?.isLoopback === true, "an address of another machine was refused");
  assert(openpi !== undefined, "a robot without a mapping was refused");
  const clock = new SystemClock(origin, duration(0), NEVER);
  return openOpenpiPolicy({
    target: address.target,
    mapping: openpi,
    robot,
    layout,
    pictures,
    nowNs: () => clock.nowNs(),
    isLockstep,
    seed,
    note,
  });
}
