// The firmware's core under sanitizers: a random walk that arms it on its way, and clang's fuzzer
// from the same entry point. Both print what they did; a broken rule or byte ends them.

import { expect, test } from "bun:test";
import { join } from "node:path";
import { isLong } from "./figures.ts";
import { FIRMWARE_OUT, hasClang, hasHostCompiler, makeFirmware } from "./firmware-build.ts";

/** Needs gcc, make and libc6-dev. */
const coreTest = test.skipIf(!hasHostCompiler);

/** Runs the core under sanitizers; returns the last line that it prints. */
function fuzz(argv: readonly string[]): string {
  const run = Bun.spawnSync([...argv], { stderr: "pipe" });
  if (run.exitCode !== 0) throw new Error(run.stderr.toString().trim());
  return (run.stdout.toString() + run.stderr.toString()).trim().split("\n").at(-1)!;
}

const scripts = isLong ? 10_000 : 300;
coreTest.each(["host_fuzz", "host_fuzz_keyed"])(
  "%s: random scripts break no rule and no memory, and most of them arm the core on their way",
  (program) => {
    makeFirmware("fuzz");
    const line = fuzz([join(FIRMWARE_OUT, program), String(scripts), "1"]);
    const [, ran, armed] = /^(\d+) scripts, (\d+) were armed$/.exec(line)!;
    expect([Number(ran), Number(armed) > scripts / 2]).toEqual([scripts, true]);
  },
  600_000,
);

const fuzzSeconds = isLong ? 600 : 20;
test.skipIf(!hasClang)(
  "clang's fuzzer finds nothing in its time",
  () => {
    makeFirmware("libfuzzer");
    const line = fuzz([join(FIRMWARE_OUT, "host_libfuzzer"), `-max_total_time=${fuzzSeconds}`]);
    expect(line).toStartWith("Done ");
  },
  (fuzzSeconds + 60) * 1_000,
);
