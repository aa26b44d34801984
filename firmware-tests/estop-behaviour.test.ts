// The e-stop chip's behaviour on every bench that this machine can run: the core alone, the
// committed image in avr8js, which needs no compiler, and in simavr where that is installed.

import { describe, test } from "bun:test";
import { join } from "node:path";
import { AvrChip } from "../drivers/estop/avr-chip.ts";
import { ChipBoard, committedImage } from "./chip-board.ts";
import { describeEstop } from "./estop-behaviour.ts";
import { CoreBench } from "./estop-core-bench.ts";
import { FIRMWARE, hasHostCompiler, hasSimavr, simavrBoard } from "./firmware-build.ts";
import { SimavrChip } from "./simavr-chip.ts";

if (hasHostCompiler) {
  describe("core on this machine", () => describeEstop(() => new CoreBench()));
  describe("core across the wrap of its 32-bit clock", () =>
    describeEstop(() => new CoreBench(undefined, 2 ** 32 - 900_000)));
} else {
  test.skip("the core on this machine: sudo apt-get install gcc make libc6-dev", () => {});
}

const image = committedImage("estop_m328p.hex");
describe("committed image in avr8js", () =>
  describeEstop(() => new ChipBoard("avr8js", (listener) => new AvrChip(image, listener))));

if (hasSimavr) {
  const hex = join(FIRMWARE, "estop_m328p.hex");
  describe("committed image in simavr", () =>
    describeEstop(
      () => new ChipBoard("simavr", (listener) => new SimavrChip(simavrBoard(), hex, listener)),
    ));
} else {
  test.skip("the image in simavr: sudo apt-get install libsimavr-dev libelf-dev", () => {});
}
