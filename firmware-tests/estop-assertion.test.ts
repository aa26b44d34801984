// An assertion that fails in a tick stops the heartbeat in that same tick: wherever the tick is,
// its answer never reaches the wire, the last one is of the tick before, and the chip cuts within
// T_wd and 1 ms of it. Core, port, the host's link and the real firmware, in virtual time.

import { expect, test } from "bun:test";
import { AvrChip } from "../drivers/estop/avr-chip.ts";
import { assert, AssertionError } from "../runtime/contracts/assert.ts";
import type { ControlCore } from "../runtime/core/core.ts";
import { EstopCell } from "./scenarios/estop-cell.ts";
import { ChipBoard, committedImage } from "./chip-board.ts";

const T_WD_US = 25_000;
const image = committedImage("estop_m328p.hex");

/** Each stage of `controlTick`, by the object and the method that it calls. */
const stages: Readonly<Record<string, (core: ControlCore) => readonly [object, string]>> = {
  arrivals: (core) => [core.policy, "takeChunk"],
  observe: (core) => [core.robot, "observeInto"],
  estimate: (core) => [core.estimator, "estimateInto"],
  "action buffer": (core) => [core.actions, "sampleInto"],
  judge: (core) => [core.gate, "judge"],
  watch: (core) => [core.gate, "watch"],
  supervise: (core) => [core.supervisor, "step"],
  settle: (core) => [core, "settle"],
  approve: (core) => [core.gate, "approveMotion"],
  submit: (core) => [core.sink, "submit"],
  "publish and record": (core) => [core.policy, "publish"],
};

/** A board that keeps what the host sent it, by the chip's time. */
class HeardBoard extends ChipBoard {
  readonly sentUs: number[] = [];

  constructor() {
    super("avr8js", (listener) => new AvrChip(image, listener));
  }

  override send(bytes: Uint8Array): void {
    this.sentUs.push(this.nowUs);
    super.send(bytes);
  }
}

test.each(Object.keys(stages))("%s: no answer of that tick, and the chip cuts in time", (name) => {
  const board = new HeardBoard();
  const cell = new EstopCell(board).swing();
  const { core } = cell.cell;
  const brokenTick = core.tick;
  const [part, method] = stages[name]!(core);
  Object.defineProperty(part, method, { value: () => assert(false, "an injected failure") });
  const lastUs = board.sentUs.at(-1)!;
  expect(() => cell.run(1)).toThrow(AssertionError);
  expect(core.tick).toBe(brokenTick); // it did not end
  cell.provoke("control_hung", 0).run(20); // the thread is gone; the driver's goes on
  expect(board.sentUs.at(-1)).toBe(lastUs);
  const cut = board.edges.at(-1)!;
  expect(cut.outputBits).toBe(0);
  const bytesUs = 1_000; // of the last answer, on the line
  expect(cut.atUs - lastUs).toBeGreaterThan(T_WD_US - 1_000);
  expect(cut.atUs - lastUs).toBeLessThanOrEqual(T_WD_US + 1_000 + bytesUs);
  board.close();
});

test("without a failure the same tick does answer", () => {
  const board = new HeardBoard();
  const cell = new EstopCell(board).swing();
  const before = board.sentUs.length;
  cell.run(1);
  expect(board.sentUs.length).toBe(before + 1);
  board.close();
});
