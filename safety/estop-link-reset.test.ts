// The reset that a person presses at the host: it goes to a board that says that it is a bench
// build, waits for one and is trusted, as an edge that ends, and to no other board and at no other
// time.

import { expect, test } from "bun:test";
import { EstopBuild, EstopFlag, EstopMode, EstopOutput } from "../runtime/contracts/estop-codes.ts";
import { EstopBeatSlot } from "../runtime/contracts/estop-line.ts";
import { Line } from "./estop-link-bench.ts";
import { EstopProblem, estopProblemNames } from "./estop-link.ts";

const { Armed, Cutting, Disarmed, Proof, Stopping, Tripped, WaitReset } = EstopMode;
const SHIPPED = EstopBuild.ChainFitted;
const BENCH = EstopBuild.ChainFitted | EstopBuild.ResetFromLink;

/** Which of the next answers carry the reset. */
function resets(line: Line, answerCount: number): boolean[] {
  return Array.from({ length: answerCount }, () => {
    line.hear();
    return (line.flags & EstopFlag.Reset) !== 0;
  });
}

const ten = (value: boolean): boolean[] => Array<boolean>(10).fill(value);

test("a bench build that waits hears it in twenty answers, then it is let go of", () => {
  const line = new Line();
  line.hear({ build: BENCH, mode: WaitReset });
  expect(resets(line, 3)).toEqual([false, false, false]); // a person's, never by itself
  line.link.pressReset();
  expect(resets(line, 30)).toEqual([...ten(true), ...ten(true), ...ten(false)]);
  line.link.pressReset();
  expect(resets(line, 1)).toEqual([true]); // another press is another edge
});

test("a second press while it is held doesn't hold it longer", () => {
  const line = new Line();
  line.hear({ build: BENCH, mode: WaitReset });
  line.link.pressReset();
  resets(line, 10);
  line.link.pressReset();
  expect(resets(line, 20)).toEqual([...ten(true), ...ten(false)]);
});

test("a tick that earned nothing carries nothing, and doesn't count", () => {
  const line = new Line();
  line.hear({ build: BENCH, mode: WaitReset });
  line.link.pressReset();
  line.beat[EstopBeatSlot.answerCount] = 0;
  for (let tick = 0; tick < 25; tick += 1) expect(line.send()).toEqual([]);
  line.beat[EstopBeatSlot.answerCount] = 1;
  expect(resets(line, 21)).toEqual([...ten(true), ...ten(true), false]);
});

test("it ends with the first status of another mode, and doesn't come back", () => {
  const line = new Line();
  line.hear({ build: BENCH, mode: WaitReset });
  line.link.pressReset();
  expect(resets(line, 2)).toEqual([true, true]);
  line.hear({ mode: Armed, outputs: EstopOutput.Both });
  expect(line.flags).toBe(0);
  line.hear({ mode: WaitReset, outputs: 0 });
  expect(resets(line, 2)).toEqual([false, false]);
});

test.each([0, SHIPPED])("a board of build %d is never asked", (build) => {
  const line = new Line();
  line.hear({ build, mode: WaitReset });
  line.link.pressReset();
  expect(resets(line, 30)).not.toContain(true);
});

test.each([Armed, Cutting, Disarmed, Proof, Stopping, Tripped])(
  "a bench build in mode %d is not asked, and not later either",
  (mode) => {
    const line = new Line();
    line.hear({ build: BENCH, mode });
    line.link.pressReset();
    line.hear({ mode: WaitReset });
    expect(resets(line, 30)).not.toContain(true);
  },
);

const proofFailed = (line: Line): void => {
  line.hear({ mode: Proof });
};
const stopIsShort = (line: Line): void => {
  line.hear({ mode: Tripped, stopMs: 299 });
};
test.each([
  ["proof_echo", proofFailed],
  ["stop_too_short", stopIsShort],
] as const)(
  "a bench build with %s waits in vain: nothing here closes outputs that aren't trusted",
  (problem, spoil) => {
    const line = new Line();
    spoil(line);
    line.hear({ build: BENCH, mode: WaitReset });
    expect(estopProblemNames[line.link.problem]).toBe(problem);
    line.link.pressReset();
    expect(resets(line, 30)).not.toContain(true);
  },
);

test("a press that wasn't passed on isn't kept until a person trusts the board again", () => {
  const line = new Line();
  proofFailed(line);
  line.hear({ build: BENCH, mode: WaitReset });
  line.link.pressReset();
  line.link.proveAgain();
  expect(resets(line, 3)).toEqual([false, false, false]);
  line.hear({ mode: Tripped });
  line.link.proveAgain();
  line.hear({ mode: WaitReset });
  expect(line.link.problem).toBe(EstopProblem.None);
  expect(resets(line, 3)).toEqual([false, false, false]);
});

test("a held press ends with the trust, and by another one at a board of another build", () => {
  const pressed = (): Line => {
    const line = new Line();
    line.hear({ build: BENCH, mode: WaitReset });
    line.link.pressReset();
    expect(resets(line, 2)).toEqual([true, true]);
    return line;
  };
  const short = pressed();
  short.hear({ stopMs: 299 });
  expect(resets(short, 20)).not.toContain(true);
  const shipped = pressed();
  shipped.hear({ build: SHIPPED });
  shipped.link.pressReset();
  expect(resets(shipped, 20)).not.toContain(true);
});
