// Opens the policy of another machine from a policy thread, in streaming and in lockstep alike. Its
// first words come before the thread is ready, so a host that is missing or does not fit ends the
// start, not the run.

import { credentials } from "@grpc/grpc-js";
import { encodeJpeg } from "../../hal/jpeg.ts";
import packageFacts from "../../package.json" with { type: "json" };
import { assert } from "../contracts/assert.ts";
import { OBS_SIDE_PX } from "../contracts/obs-transform.ts";
import type { PictureReader, Policy } from "../contracts/policy.ts";
import type { StateLayout } from "../contracts/state.ts";
import { duration } from "../contracts/units.ts";
import { parseDialAddress } from "../link/address.ts";
import type { LinkAddress } from "../link/address.ts";
import { openRemotePolicy } from "../link/grpc-remote.ts";
import type { RemoteOptions } from "../link/grpc-remote.ts";
import { probeTls } from "../link/grpc-tls-probe.ts";
import { JPEG_QUALITY_PERCENT } from "../link/limits.ts";
import { needPairedHost } from "../link/pair-rules.ts";
import { PairStore } from "../link/pair-store.ts";
import { HOST_TLS_NAME } from "../link/tls-certificates.ts";
import { robotCredentials } from "../link/tls-trust.ts";
import { isOpenpi, parseOpenpiAddress } from "../link/openpi-address.ts";
import { openOpenpiPolicy } from "../link/openpi-socket.ts";
import type { RunPlan } from "./plan.ts";
import { stateFolder } from "./state-folder.ts";
import { SystemClock, wallTimeMs } from "./system-clock.ts";
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

/** Throws PolicyError and PairingError. */
export async function openRemote(url: string, surroundings: RemoteSurroundings): Promise<Policy> {
  if (isOpenpi(url)) return openOpenpi(url, surroundings);
  const { run, layout, origin, pictures, isLockstep } = surroundings;
  const { robot, task, seed } = run;
  const address = parseDialAddress(url);
  assert(address !== undefined, "an address that does not read was refused");
  const clock = new SystemClock(origin, duration(0), NEVER);
  return openRemotePolicy({
    target: address.target,
    ...trustOf(address),
    facts: {
      robot,
      task,
      layout,
      manifestSha256: new Uint8Array(0),
      runtimeVersions: { holdfast: packageFacts.version, bun: Bun.version },
    },
    nowNs: () => clock.nowNs(),
    pictures,
    ...(robot.policy.pictureEncoding === "jpeg" && { encodePicture }),
    waitsForEver: isLockstep,
    seed,
    note,
  });
}

const encodePicture = (rgb: Uint8Array): Promise<Uint8Array> =>
  encodeJpeg(rgb, OBS_SIDE_PX, OBS_SIDE_PX, JPEG_QUALITY_PERCENT);

type Trust = Pick<RemoteOptions, "credentials" | "tlsName" | "explain">;

/** This machine's own hosts are spoken to in plain; any other with what pairing left. */
function trustOf(address: LinkAddress): Trust {
  if (address.isLoopback) {
    return { credentials: credentials.createInsecure(), tlsName: undefined };
  }
  const store = new PairStore(stateFolder(Bun.env));
  const paired = needPairedHost(store, address, wallTimeMs());
  const isRevoked = (fingerprint: string): boolean => store.isRevokedHost(fingerprint);
  return {
    credentials: robotCredentials(paired, isRevoked),
    tlsName: HOST_TLS_NAME,
    explain: () => probeTls(address, paired, isRevoked, wallTimeMs),
  };
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
