// Builds the e-stop firmware for tests, once per process: the core as a library of this machine,
// the random walk under sanitizers, and the image of the chip. A compiler that is missing skips
// what needs it; the committed image needs none. Two processes at once wait for each other.

import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dir, "..");
export const FIRMWARE = join(ROOT, "safety/firmware");
export const FIRMWARE_OUT = join(ROOT, ".cache/firmware");

export const hasHostCompiler = ["make", "cc"].every((name) => Bun.which(name) !== null);
export const hasAvrCompiler = hasHostCompiler && Bun.which("avr-gcc") !== null;
export const hasArmCompiler = hasHostCompiler && Bun.which("arm-none-eabi-gcc") !== null;
export const hasSimavr = hasHostCompiler && existsSync("/usr/include/simavr/sim_avr.h");
export const hasClang = hasHostCompiler && Bun.which("clang") !== null;

const made = new Set<string>();

/** Makes a target of the firmware's Makefile once; throws with the compiler's words otherwise. */
export function makeFirmware(target: string, ...constants: string[]): void {
  const name = [target, ...constants].join(" ");
  if (made.has(name)) return;
  made.add(name);
  mkdirSync(FIRMWARE_OUT, { recursive: true });
  const alone = ["flock", join(FIRMWARE_OUT, "lock")];
  const run = Bun.spawnSync([...alone, "make", "-s", "-C", FIRMWARE, target, ...constants]);
  if (run.exitCode === 0) return;
  throw new Error(`Cannot make ${target}: ${run.stderr.toString().trim()}`);
}

/** Set where `scripts/firmware-coverage.ts` wants the libraries that count their branches. */
export const COUNTED = Bun.env["ESTOP_COUNTED"] === "1";

/** The core as a library, built now if it is not there yet or older than its sources. */
export function hostLibrary(keyed: boolean): string {
  makeFirmware(COUNTED ? "counted" : "host");
  const folder = COUNTED ? join(FIRMWARE_OUT, "counted") : FIRMWARE_OUT;
  const path = join(folder, keyed ? "libestop_keyed.so" : "libestop.so");
  if (!existsSync(path)) throw new Error(`Cannot load ${path}: make built no such file`);
  return path;
}

/** The board around simavr, built now if it is not there yet or older than its source. */
export function simavrBoard(): string {
  makeFirmware("simavr");
  return join(FIRMWARE_OUT, "simavr_board");
}
