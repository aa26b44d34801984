// A board built with RESET_FROM_LINK=1, on the chip's own core and on the emulated chip with an
// image built for this: a reset pressed at the host arms it, through lost frames too, and a shipped
// board stays open until somebody stands at it.

import { expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { AvrChip } from "../drivers/estop/avr-chip.ts";
import { EstopBuild } from "../runtime/contracts/estop-codes.ts";
import { ChipBoard, committedImage, imageAt } from "./chip-board.ts";
import type { EstopBench } from "./estop-bench.ts";
import { CoreBench, SHIPPED } from "./estop-core-bench.ts";
import { LinkRig } from "./estop-link-rig.ts";
import { FIRMWARE_OUT, hasAvrCompiler, hasHostCompiler, makeFirmware } from "./firmware-build.ts";

setDefaultTimeout(60_000); // the first of them compiles

const BENCH = EstopBuild.ChainFitted | EstopBuild.ResetFromLink;

/** What a press at the host does to a board that waits for its reset, and to its outputs. */
function pressed(bench: EstopBench, lostTicks = 0): [string, number] {
  const rig = new LinkRig(bench).until(({ mode }) => mode === "WAIT_RESET").run(40);
  expect([rig.mode, bench.outputBits]).toEqual(["WAIT_RESET", 0]);
  rig.link.pressReset();
  rig.isCut = lostTicks > 0;
  rig.run(lostTicks).isCut = false;
  rig.run(60);
  return [rig.mode, bench.outputBits];
}

test.skipIf(!hasHostCompiler)("the core of a bench build is armed by it, a shipped one not", () => {
  expect(pressed(new CoreBench({ ...SHIPPED, buildBits: BENCH }))).toEqual(["ARMED", 3]);
  expect(pressed(new CoreBench({ ...SHIPPED, buildBits: BENCH }), 3)).toEqual(["ARMED", 3]);
  expect(pressed(new CoreBench())).toEqual(["WAIT_RESET", 0]);
});

test.skipIf(!hasHostCompiler)("a tripped bench build is armed again, press by press", () => {
  const rig = new LinkRig(new CoreBench({ ...SHIPPED, buildBits: BENCH }));
  for (const armedCount of [1, 2]) {
    rig.until(({ mode }) => mode === "WAIT_RESET").run(4);
    rig.link.pressReset();
    rig.until(({ mode }) => mode === "ARMED");
    expect(rig.link.armedCount).toBe(armedCount);
    rig.isHung = true;
    rig.until(({ mode }) => mode === "TRIPPED");
    rig.isHung = false;
  }
});

test.skipIf(!hasAvrCompiler)("the emulated chip with its image is armed by it", () => {
  const out = join(FIRMWARE_OUT, "bench-build");
  makeFirmware("m328p", `OUT=${out}`, "RESET_FROM_LINK=1");
  const image = imageAt(join(out, "estop_m328p.hex"));
  const board = new ChipBoard("avr8js", (listener) => new AvrChip(image, listener));
  expect(pressed(board)).toEqual(["ARMED", 3]);
});

test("the emulated chip with the shipped image is not", () => {
  const image = committedImage("estop_m328p.hex");
  const board = new ChipBoard("avr8js", (listener) => new AvrChip(image, listener));
  expect(pressed(board)).toEqual(["WAIT_RESET", 0]);
});
