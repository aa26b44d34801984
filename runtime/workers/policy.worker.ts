// The policy thread: decides on the newest state, at the profile's cadence, and hands chunks to the
// control thread. It may be slow, throw or hang: the tick goes on and says that nothing came.

import { credentials } from "@grpc/grpc-js";
import packageFacts from "../../package.json" with { type: "json" };
import { ChunkView } from "../contracts/action.ts";
import { assert } from "../contracts/assert.ts";
import type { Policy } from "../contracts/policy.ts";
import { StateView } from "../contracts/state.ts";
import { REASON_COUNT } from "../contracts/reason.ts";
import { parseAddress } from "../link/address.ts";
import { openRemotePolicy } from "../link/grpc-remote.ts";
import { makeRunner } from "../policy/make-runner.ts";
import { ThreadSlot } from "../shm/control-words.ts";
import { ImageReader } from "../shm/image-slots.ts";
import { LatestReader, LatestWriter } from "../shm/latest-cell.ts";
import { RingWriter } from "../shm/spsc-ring.ts";
import { layoutOf, PolicyStatusSlot } from "./plan.ts";
import { WordStop } from "./ports.ts";
import { SlotPictures } from "./slot-pictures.ts";
import { SystemClock } from "./system-clock.ts";
import { attach, note, runWhenTold, tellPolicyName } from "./thread.ts";

/** How long the thread sleeps between looks at the state: half a control period. */
const POLL_MS = 2;

const thread = attach();
const { plan, arena, words } = thread;
const layout = layoutOf(plan.run);
const stop = new WordStop(words);
const clock = new SystemClock(plan.origin, plan.run.spinTailNs, stop);
const camera = plan.run.robot.sim?.camera;
const pictures = camera && new SlotPictures(new ImageReader(arena.images("pictures")), camera);
const runner = await makeRunner(plan.run, layout, { pictures, openRemote });
const states = new LatestReader(arena.cell("state"));
const status = new LatestWriter(arena.cell("policy-status"));
const chunks = new RingWriter(arena.ring("chunks"));
const state = new StateView(new Float64Array(layout.slotCount), layout);
const chunk = new ChunkView();
let epoch = -1;
let told = "";
let toldStatus = "";

/** A policy on another machine; its first words come before this thread is ready. */
function openRemote(url: string): Promise<Policy> {
  const { robot, task, seed } = plan.run;
  const address = parseAddress(url);
  assert(address?.isLoopback === true, "an address of another machine was refused");
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
    waitsForEver: false,
    seed,
    note,
  });
}

function publishStatus(): void {
  const { record } = status;
  for (let reason = 0; reason < REASON_COUNT; reason += 1) {
    record[PolicyStatusSlot.safeTicks + reason] = runner.safeTicks[reason]!;
    record[PolicyStatusSlot.safeEpisodes + reason] = runner.safeEpisodes[reason]!;
  }
  status.publish();
}

function cycle(): void {
  if (states.take()) {
    state.record.set(states.record);
    if (state.epoch !== epoch) {
      epoch = state.epoch;
      runner.beginEpoch(epoch);
    }
    runner.observe(state);
    // One past the newest published tick: the tick that this decision is for.
    runner.step(state.tick + 1, clock.nowNs());
  }
  while (runner.takeInto(chunk, clock.nowNs())) chunks.put(chunk.record);
  publishStatus();
  if (runner.lastError !== told) {
    told = runner.lastError;
    note(`policy "${plan.run.policy}" threw: ${told}`);
  }
  if (runner.statusText !== toldStatus) {
    toldStatus = runner.statusText;
    note(`policy ${plan.run.policy}: ${toldStatus}`);
  }
}

tellPolicyName(runner.policyName);
runWhenTold(thread, ThreadSlot.policy, "hf-policy", 0, async () => {
  while (!stop.stopped) {
    cycle();
    words.beat(ThreadSlot.policy);
    await Bun.sleep(POLL_MS);
  }
  runner.close();
});
