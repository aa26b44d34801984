// The e-stop chip's behaviour on every bench that this machine can run: the core alone, and the
// committed image in the emulator, which needs no compiler.

import { describe, test } from "bun:test";
import { AvrBoard, committedImage } from "./avr-board.ts";
import { describeEstop } from "./estop-behaviour.ts";
import { CoreBench } from "./estop-core-bench.ts";
import { hasHostCompiler } from "./firmware-build.ts";

if (hasHostCompiler) {
  describe("core on this machine", () => describeEstop(() => new CoreBench()));
  describe("core across the wrap of its 32-bit clock", () =>
    describeEstop(() => new CoreBench(undefined, 2 ** 32 - 900_000)));
} else {
  test.skip("the core on this machine: sudo apt-get install gcc make libc6-dev", () => {});
}

const image = committedImage("estop_m328p.hex");
describe("committed image in avr8js", () => describeEstop(() => new AvrBoard(image)));
