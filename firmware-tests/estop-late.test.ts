// A board that the machine runs late, in virtual time and from seeds: it arms all the same, it
// never trips while its host is well, and it hides nothing: a host that hangs is cut in time.

import { expect, setDefaultTimeout, test } from "bun:test";
import { EMULATED_PATIENCE } from "../runtime/cli/estop-watch.ts";
import { EstopInput } from "../runtime/contracts/estop-codes.ts";
import { Mode } from "../runtime/contracts/mode.ts";
import { SWITCHES_AT_REST } from "./estop-bench.ts";
import { LinkRig } from "./estop-link-rig.ts";
import { isLong, noteFigure } from "./figures.ts";
import { hasHostCompiler } from "./firmware-build.ts";
import { LateBench } from "./late-bench.ts";
import type { Lateness } from "./late-bench.ts";

setDefaultTimeout(120_000);
const SEEDS = isLong ? 100 : 10;
const SILENCE_US = 100_000;
/** Ticks armed. */
const TICKS = 4_000;
const TICK_MS = 5;
/** Proof tests for one start: lateness may spoil a few. */
const PROOFS_RATIO_MAX = 1.2;
/** A chip that is slow all the time leaves out one and the same frame of each burst. */
const PROOFS_RATIO_SLOW_MAX = 6;

const storms: Readonly<Record<string, Lateness>> = {
  "now and then by 20 ms": { lateRatio: 0.01, lateUsMax: 20_000, sliceUs: 300 },
  "often by 20 ms": { lateRatio: 0.05, lateUsMax: 20_000, sliceUs: 300 },
  "often by 60 ms": { lateRatio: 0.05, lateUsMax: 60_000, sliceUs: 300 },
  "now and then by 300 ms": { lateRatio: 0.01, lateUsMax: 300_000, sliceUs: 300 },
  "a fifth of the time by 10 ms": { lateRatio: 0.2, lateUsMax: 10_000, sliceUs: 300 },
  "always, at two thirds of its speed": { lateRatio: 0, lateUsMax: 0, sliceUs: 1_500 },
  "always, at two fifths of its speed": { lateRatio: 0, lateUsMax: 0, sliceUs: 2_500 },
  "always, at a quarter of its speed": { lateRatio: 0.02, lateUsMax: 20_000, sliceUs: 4_000 },
};

const chipTest = test.skipIf(!hasHostCompiler);

function armed(bench: LateBench): LinkRig {
  const rig = new LinkRig(bench, 300, EMULATED_PATIENCE);
  for (let ticks = 0; rig.mode !== "WAIT_RESET"; ticks += 400) {
    if (ticks > 8_000) throw new Error(`Cannot arm: ${rig.modes}`);
    rig.run(400);
  }
  bench.switchBits |= EstopInput.ResetPressed;
  rig.until(({ mode }) => mode === "ARMED");
  bench.switchBits = SWITCHES_AT_REST;
  rig.hostMode = Mode.Running;
  return rig;
}

for (const [name, lateness] of Object.entries(storms)) {
  chipTest(`late ${name}: it arms, and trips on nothing but its host`, () => {
    let proofs = 0;
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const bench = new LateBench(lateness, seed);
      const rig = armed(bench);
      proofs += rig.modes.filter((mode) => mode === "PROOF").length;
      for (let tick = 0; tick < TICKS; tick += 1) {
        rig.run(1);
        expect(rig.link.status.failCount).toBeLessThan(3);
        if (rig.link.faultBits !== 0) throw new Error(`seed ${seed}, tick ${tick}: ${rig.modes}`);
      }
      expect(bench.slipUs).toBeGreaterThan(0);
      rig.isHung = true;
      rig.until(() => bench.outputBits === 0);
      const silentUs = bench.edges.at(-1)!.atUs - bench.lastByteUs;
      expect(silentUs).toBeGreaterThan(SILENCE_US - 1_000);
      expect(silentUs).toBeLessThanOrEqual(SILENCE_US + 1_000);
    }
    const most = lateness.lateRatio === 0 ? PROOFS_RATIO_SLOW_MAX : PROOFS_RATIO_MAX;
    noteFigure({
      part: "e-stop run late",
      case: name,
      measured: `${proofs} proof tests`,
      limit: `at most ${most} a start, no trip`,
      tries: `${SEEDS} seeds, ${(TICKS * TICK_MS) / 1e3} s each`,
    });
    expect(proofs).toBeLessThanOrEqual(most * SEEDS);
  });
}
