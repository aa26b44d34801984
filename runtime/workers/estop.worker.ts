// The e-stop's driver thread: reads the chip, sends on what the last completed tick earned, and
// tells control the next question. Its own timer lies half a millisecond behind the tick; it
// originates nothing, so without completed ticks the line goes silent and the chip cuts.

import { ESTOP_BEAT_SLOT_COUNT, EstopAskSlot, EstopStatusSlot } from "../contracts/estop-line.ts";
import { assert } from "../contracts/assert.ts";
import { NS_PER_MS, instant } from "../contracts/units.ts";
import { GRID_UNSET, ThreadSlot } from "../shm/control-words.ts";
import { EstopWish } from "../shm/estop-wish.ts";
import { LatestReader, LatestWriter } from "../shm/latest-cell.ts";
import { openSerial } from "../../hal/ffi/serial.ts";
import { GONE } from "../../hal/ffi/file-descriptor.ts";
import { EstopLink } from "../../safety/estop-link.ts";
import { WordStop } from "./ports.ts";
import { SystemClock } from "./system-clock.ts";
import { attach, note, runWhenTold } from "./thread.ts";

const ESTOP_PRIORITY = 75;
const BAUD = 500_000;
/** Behind the tick, so that what it earned is there. */
const PHASE_NS = 0.5 * NS_PER_MS;
const GRID_POLL_NS = NS_PER_MS;

const thread = attach();
const { plan, arena, words } = thread;
const { robot, estop } = plan.run;
assert(estop !== undefined, "an e-stop thread has an e-stop");
const stop = new WordStop(words);
const clock = new SystemClock(plan.origin, plan.run.spinTailNs, stop);
const line = openSerial(estop.path, BAUD);
const link = new EstopLink({
  stopNsMin: estop.stopNsMin,
  silenceNsMax: estop.silenceNsMax,
  startNsMax: robot.supervisor.startTimeoutNs,
  proofTryCountMax: estop.proofTryCountMax,
  cutsOnFault: robot.powerCut === "safe",
  key: estop.key ?? null,
  nowNs: clock.nowNs(),
});
const wire = new Uint8Array(link.wireSizeBytesMax);
const asks = new LatestWriter(arena.cell("estop-ask"));
const beats = new LatestReader(arena.cell("estop-beat"));
const status = new LatestWriter(arena.cell("estop-status"));
const wish = new EstopWish(arena.words("estop-wish"));
assert(beats.record.length === ESTOP_BEAT_SLOT_COUNT, "a beat has room for its answers");
let missedBeats = 0;
let isGone = false;

function readChip(): void {
  for (;;) {
    const count = line.read();
    if (count === GONE && !isGone) {
      isGone = true;
      link.lineGone();
      note(`the e-stop at ${estop!.path} is gone`);
    }
    if (count <= 0) return;
    const nowNs = clock.nowNs();
    for (let at = 0; at < count; at += 1) link.takeByte(line.received[at]!, nowNs);
  }
}

function sendBeat(): void {
  if (!beats.take() || isGone) return;
  const sizeBytes = link.writeInto(wire, beats.record, clock.nowNs());
  if (sizeBytes > 0) line.write(wire, sizeBytes);
}

function publishAsk(): void {
  const { record } = asks;
  record[EstopAskSlot.question] = link.status.question;
  record[EstopAskSlot.questionId] = link.status.counter;
  record[EstopAskSlot.bootNonce] = link.status.bootNonce;
  record[EstopAskSlot.answerCount] = link.answersWanted;
  record[EstopAskSlot.faultBits] = link.faultBits;
  asks.publish();
}

function publishStatus(): void {
  const { record } = status;
  const chip = link.status;
  record[EstopStatusSlot.heard] = link.statusCount > 0 ? 1 : 0;
  record[EstopStatusSlot.mode] = chip.mode;
  record[EstopStatusSlot.cause] = link.openCause;
  record[EstopStatusSlot.problem] = link.problem;
  record[EstopStatusSlot.failCount] = chip.failCount;
  record[EstopStatusSlot.badCount] = chip.badCount;
  record[EstopStatusSlot.lastBad] = chip.lastBad;
  record[EstopStatusSlot.inputs] = chip.inputs;
  record[EstopStatusSlot.outputs] = chip.outputs;
  record[EstopStatusSlot.proofStep] = chip.proofStep;
  record[EstopStatusSlot.build] = chip.build;
  record[EstopStatusSlot.silenceMs] = chip.silenceMs;
  record[EstopStatusSlot.stopMs] = chip.stopMs;
  record[EstopStatusSlot.cutDelayMs] = chip.cutDelayMs;
  record[EstopStatusSlot.armedCount] = link.armedCount;
  record[EstopStatusSlot.tripCount] = link.tripCount;
  record[EstopStatusSlot.statusCount] = link.statusCount;
  record[EstopStatusSlot.beatCount] = link.beatCount;
  record[EstopStatusSlot.missedBeats] = missedBeats;
  status.publish();
}

function runCycle(): void {
  if (wish.isLeaving) link.leave();
  if (wish.takeProof()) link.proveAgain();
  if (wish.takeReset()) link.pressReset();
  sendBeat();
  readChip();
  link.step(clock.nowNs());
  publishAsk();
  publishStatus();
}

runWhenTold(thread, ThreadSlot.estop, "hf-estop", ESTOP_PRIORITY, () => {
  while (words.gridOriginNs === GRID_UNSET && !stop.stopped) {
    readChip();
    clock.sleepUntil(instant(clock.nowNs() + GRID_POLL_NS));
  }
  const { periodNs } = robot;
  let dueNs = words.gridOriginNs - periodNs + PHASE_NS;
  while (!stop.stopped) {
    dueNs += periodNs;
    const missed = Math.floor((clock.nowNs() - dueNs) / periodNs);
    if (missed > 0) {
      missedBeats += missed;
      dueNs += missed * periodNs;
    }
    clock.sleepUntil(instant(dueNs));
    if (stop.stopped) break;
    runCycle();
    words.beat(ThreadSlot.estop);
  }
  line.close();
});
