// The policy thread of a lockstep run: it sleeps until it is asked, decides on the state that came
// with the ask, and answers. A promised answer is waited for at the next ask, so that what the tick
// in between voided is never looked at: the same decisions, run after run.
//
// It has no real-time priority, so it may wait on a bell.

import { ChunkView } from "../contracts/action.ts";
import { CHUNKS_PER_TICK_MAX } from "../contracts/policy.ts";
import { StateView } from "../contracts/state.ts";
import { instant } from "../contracts/units.ts";
import type { Instant } from "../contracts/units.ts";
import { makeRunner } from "../policy/make-runner.ts";
import { Bell } from "../shm/bell.ts";
import { ThreadSlot } from "../shm/control-words.ts";
import { LatestReader, LatestWriter } from "../shm/latest-cell.ts";
import { RingReader, RingWriter } from "../shm/spsc-ring.ts";
import { AnswerSlot, AskKind, AskSlot, textInto } from "./lockstep-plan.ts";
import { layoutOf } from "./plan.ts";
import { policyStatusInto } from "./policy-status.ts";
import { openOnnx } from "./onnx-file.ts";
import { hearReceipts } from "./receipts.ts";
import { openRemote } from "./remote-policy.ts";
import { attach, runWhenTold, tellPolicyName } from "./thread.ts";

/** How long the thread sleeps before the policy's own timers get a turn. */
const SLEEP_MS = 5;
/** How often it says that its event loop turns. */
const BEAT_MS = 100;

const thread = attach();
const { plan, arena, words } = thread;
const layout = layoutOf(plan.run);
const { origin } = plan;
const surroundings = { run: plan.run, layout, origin, pictures: undefined, isLockstep: true };
const runner = await makeRunner(plan.run, layout, {
  pictures: undefined,
  openRemote: (url) => openRemote(url, surroundings),
  openOnnx,
});
const askBell = new Bell(arena.words("ask-bell"));
const answerBell = new Bell(arena.words("answer-bell"));
const states = new LatestReader(arena.cell("state"));
const asks = new LatestReader(arena.cell("ask"));
const answer = new LatestWriter(arena.cell("answer"));
const status = new LatestWriter(arena.cell("policy-status"));
const errors = new LatestWriter(arena.cell("policy-error"));
const texts = new LatestWriter(arena.cell("policy-text"));
const troubles = new LatestWriter(arena.cell("policy-trouble"));
const chunks = new RingWriter(arena.ring("chunks"));
const receipts = new RingReader(arena.ring("receipts"));
const state = new StateView(new Float64Array(layout.slotCount), layout);
const chunk = new ChunkView();
let epoch = -1;
let told = "";
let toldText = "";
let toldTrouble = "";

async function serve(): Promise<void> {
  asks.take();
  hearReceipts(receipts, runner);
  if (states.take()) state.record.set(states.record);
  if (state.epoch !== epoch) {
    epoch = state.epoch;
    runner.beginEpoch(epoch);
  } else if (runner.isPending) {
    await runner.settled();
    await nextTurn();
  }
  const { record } = asks;
  if (record[AskSlot.kind] === AskKind.decide) {
    decide(record[AskSlot.tick]!, instant(record[AskSlot.nowNs]!));
  }
  tell();
}

function decide(tick: number, nowNs: Instant): void {
  runner.observe(state);
  runner.step(tick, nowNs);
  for (let count = 0; count < CHUNKS_PER_TICK_MAX && runner.takeInto(chunk, nowNs); count += 1) {
    chunks.put(chunk.record);
  }
}

function tell(): void {
  policyStatusInto(status.record, runner);
  status.publish();
  const { statusText, trouble, lastError } = runner; // each once: it may be another each time
  if (lastError !== told) {
    told = lastError;
    textInto(errors.record, told);
    errors.publish();
  }
  if (statusText !== toldText) {
    toldText = statusText;
    textInto(texts.record, toldText);
    texts.publish();
  }
  if (trouble !== toldTrouble) {
    toldTrouble = trouble;
    textInto(troubles.record, toldTrouble);
    troubles.publish();
  }
  answer.record[AnswerSlot.isPromised] = runner.isPending ? 1 : 0;
  answer.record[AnswerSlot.dueTick] = runner.dueTick;
  answer.record[AnswerSlot.nextLookNs] = runner.nextLookNs;
  answer.publish();
  answerBell.ring();
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

tellPolicyName(runner.policyName);
runWhenTold(thread, ThreadSlot.policy, "hf-policy", 0, async () => {
  setInterval(() => words.beat(ThreadSlot.policy), BEAT_MS);
  let servedCount = 0;
  for (;;) {
    if (askBell.waitPast(servedCount, SLEEP_MS)) {
      servedCount = askBell.count;
      await serve();
    }
    // While an answer is promised the next ask is at most a tick away.
    if (!runner.isPending) await nextTurn();
  }
});
