// The policy thread: decides on the newest state, at the profile's cadence, and hands chunks to the
// control thread. It may be slow, throw or hang: the tick goes on and says that nothing came.

import { Fault } from "../../safety/faults.ts";
import { ChunkView } from "../contracts/action.ts";
import { StateView } from "../contracts/state.ts";
import { makeRunner } from "../policy/make-runner.ts";
import { ThreadSlot } from "../shm/control-words.ts";
import { ImageReader } from "../shm/image-slots.ts";
import { LatestReader, LatestWriter } from "../shm/latest-cell.ts";
import { RingReader, RingWriter } from "../shm/spsc-ring.ts";
import { layoutOf } from "./plan.ts";
import { policyStatusInto } from "./policy-status.ts";
import { WordStop } from "./ports.ts";
import { openOnnx } from "./onnx-file.ts";
import { openRemote } from "./remote-policy.ts";
import { hearReceipts } from "./receipts.ts";
import { SlotPictures } from "./slot-pictures.ts";
import { SystemClock } from "./system-clock.ts";
import { attach, note, runWhenTold, tellPolicyName, tellTrouble } from "./thread.ts";

/** How long the thread sleeps between looks at the state: half a control period. */
const POLL_MS = 2;

const thread = attach();
const { plan, arena, words } = thread;
const layout = layoutOf(plan.run);
const stop = new WordStop(words);
const clock = new SystemClock(plan.origin, plan.run.spinTailNs, stop);
const camera = plan.run.robot.sim?.camera;
const pictures = camera && new SlotPictures(new ImageReader(arena.images("pictures")), camera);
const surroundings = { run: plan.run, layout, origin: plan.origin, pictures, isLockstep: false };
const runner = await makeRunner(plan.run, layout, {
  pictures,
  openRemote: (url) => openRemote(url, surroundings),
  openOnnx,
});
const states = new LatestReader(arena.cell("state"));
const status = new LatestWriter(arena.cell("policy-status"));
const chunks = new RingWriter(arena.ring("chunks"));
const receipts = new RingReader(arena.ring("receipts"));
const state = new StateView(new Float64Array(layout.slotCount), layout);
const chunk = new ChunkView();
let epoch = -1;
let told = "";
let toldStatus = "";
let toldTrouble = "";

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
  hearReceipts(receipts, runner);
  words.reportFaults(ThreadSlot.policy, runner.isSlow ? 1 << Fault.PolicySlow : 0);
  policyStatusInto(status.record, runner);
  status.publish();
  tell();
}

/** Each is read once: a policy may say something else each time. */
function tell(): void {
  const { statusText, trouble, lastError } = runner;
  if (lastError !== told) {
    told = lastError;
    note(`policy "${plan.run.policy}" threw: ${told}`);
  }
  if (statusText !== toldStatus) {
    toldStatus = statusText;
    note(`policy ${plan.run.policy}: ${toldStatus}`);
  }
  if (trouble !== toldTrouble) {
    toldTrouble = trouble;
    tellTrouble(toldTrouble);
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
