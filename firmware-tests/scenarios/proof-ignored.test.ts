// A chip that ignores exactly one step of the proof test, beside the real link and a whole core:
// the run stays in STARTING whatever a person presses, and the link gives the chip up by name. Each
// broken chip is the firmware's own source with one line changed; the whole one must pass.

import { expect, setDefaultTimeout, test } from "bun:test";
import { EstopInput } from "../../runtime/contracts/estop-codes.ts";
import { Mode } from "../../runtime/contracts/mode.ts";
import { EstopProblem } from "../../safety/estop-link.ts";
import { CoreBench } from "../estop-core-bench.ts";
import { isLong, noteFigure } from "../figures.ts";
import { hasHostCompiler } from "../firmware-build.ts";
import { breakages, brokenLibrary } from "./broken-firmware.ts";
import { EstopCell } from "./estop-cell.ts";

setDefaultTimeout(60_000); // each compiles a core

/** How far the chip's status grid lies before the host's. */
const EVERY_US = Array.from({ length: 50 }, (_, at) => at * 100);
const SOME_US = isLong ? EVERY_US : EVERY_US.filter((leadUs) => leadUs % 1_000 === 0);
/** Three proof tests that time out after three seconds each, and more. */
const WHOLE_PERIODS = 2_200;
/** One proof test and what follows it. */
const SHORT_PERIODS = 200;

/** A person presses the chip's reset again and again; true when the run ever left STARTING. */
function everRuns(cell: EstopCell, periods: number): boolean {
  for (let period = 0; period < periods; period += 1) {
    const presses = period % 40 < 6 && cell.chipMode === "WAIT_RESET";
    if (presses) cell.bench.switchBits |= EstopInput.ResetPressed;
    else cell.bench.switchBits &= ~EstopInput.ResetPressed;
    cell.run(1);
    if (cell.mode === Mode.Running) return true;
  }
  return false;
}

const chipTest = test.skipIf(!hasHostCompiler);

chipTest("the whole firmware passes its proof test at every phase, and the run begins", () => {
  for (const leadUs of EVERY_US) {
    const cell = new EstopCell(new CoreBench(), leadUs);
    expect([leadUs, everRuns(cell, SHORT_PERIODS)]).toEqual([leadUs, true]);
    cell.bench.close();
  }
});

for (const breakage of breakages) {
  chipTest(`a chip that ${breakage.name} never lets a run begin`, () => {
    const library = brokenLibrary(breakage);
    // A step that only passes is short: a status falls into it at few phases.
    const leadsUs = breakage.name.includes("close") ? EVERY_US : SOME_US;
    const benchOf = () => new CoreBench(undefined, 0, null, library);
    const ran = leadsUs.filter((leadUs) =>
      everRuns(new EstopCell(benchOf(), leadUs), SHORT_PERIODS),
    );
    expect(ran).toEqual([]);
    const cell = new EstopCell(benchOf());
    expect(everRuns(cell, WHOLE_PERIODS)).toBe(false);
    const given: readonly EstopProblem[] = [EstopProblem.ProofEcho, EstopProblem.ProofFailed];
    expect(given).toContain(cell.link.problem);
    noteFigure({
      part: "proof test",
      case: breakage.name,
      measured: `0 runs begun, problem ${cell.link.problem}`,
      limit: "0",
      tries: `${leadsUs.length} phases`,
    });
  });
}
