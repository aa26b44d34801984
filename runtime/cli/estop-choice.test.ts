// What `--estop` may be, with every refusal by name, and what people are told of a chip's mode and
// cause. No process and no board: the records are written here.

import { expect, test } from "bun:test";
import { EstopMode } from "../contracts/estop-codes.ts";
import { EstopStatusSlot } from "../contracts/estop-line.ts";
import { loadRobot } from "../profile/load.ts";
import { createArena } from "../shm/arena.ts";
import { LatestWriter } from "../shm/latest-cell.ts";
import { arenaParts } from "../workers/plan.ts";
import { EstopWatch, stopNsMinOf } from "./estop-watch.ts";
import { runOptions } from "./run-command.ts";
import type { EstopChoice } from "./run-options.ts";

test("an e-stop is emulated, a path, or none; nobody at a terminal presses the reset", () => {
  const choices: readonly [string | undefined, boolean | undefined, boolean, EstopChoice][] = [
    [undefined, true, true, { kind: "none" }],
    ["none", true, false, { kind: "none" }],
    ["emulated", true, false, { kind: "emulated", autoReset: true }],
    ["emulated", false, false, { kind: "emulated", autoReset: false }],
    ["emulated", true, true, { kind: "emulated", autoReset: false }],
    ["/dev/ttyUSB0", true, false, { kind: "board", path: "/dev/ttyUSB0" }],
  ];
  for (const [estop, autoReset, hasKeyboard, choice] of choices) {
    const values = {
      ...(estop !== undefined && { estop }),
      ...(autoReset === false && { autoReset }),
    };
    expect(runOptions("so101", values, hasKeyboard).estop).toEqual(choice);
  }
});

test("an e-stop that can't be is refused by name", () => {
  expect(() => runOptions("so101", { estop: "nano" })).toThrow(
    'Cannot use --estop: expected emulated, none, or the path of its serial line, found "nano"',
  );
  expect(() => runOptions("so101", { estop: "emulated", time: "lockstep" })).toThrow(
    "Cannot use --estop: expected --time streaming with it, found --time lockstep",
  );
  expect(() => runOptions("so101", { estop: "/dev/x", autoReset: false })).toThrow(
    "Cannot use --no-auto-reset: expected --estop emulated with it",
  );
});

test("mode, cause and problem are told once each time they change, and a board has no keys", () => {
  const { plan } = runOptions("so101", {});
  const arena = createArena(arenaParts(plan));
  const status = new LatestWriter(arena.cell("estop-status"));
  const told: string[] = [];
  const choice: EstopChoice = { kind: "board", path: "/dev/x" };
  const watch = new EstopWatch(arena, choice, undefined, (text) => told.push(text));
  const tell = (mode: number, cause: number, problem: number): void => {
    status.record.fill(0);
    status.record[EstopStatusSlot.heard] = 1;
    status.record[EstopStatusSlot.mode] = mode;
    status.record[EstopStatusSlot.cause] = cause;
    status.record[EstopStatusSlot.problem] = problem;
    status.publish();
    watch.poll();
  };
  watch.poll();
  tell(EstopMode.WaitReset, 1, 0);
  expect(watch.pressReset()?.text).toContain("press the reset button of the e-stop");
  tell(EstopMode.Armed, 0, 0);
  expect(watch.pressReset()).toBeUndefined();
  expect(watch.proveAgain().accepted).toBe(false);
  tell(EstopMode.Armed, 0, 0);
  tell(EstopMode.Tripped, 6, 4);
  expect(watch.pressButton().accepted).toBe(false);
  expect(watch.proveAgain().accepted).toBe(true);
  expect(told).toEqual([
    "e-stop board: not heard yet",
    "e-stop board: WAIT_RESET by power_on",
    "e-stop board: ARMED",
    "e-stop board: TRIPPED by silence, proof_failed",
  ]);
});

test("SS1-t must bear the slowest joint's stop and two periods", () => {
  const robot = loadRobot("so101");
  const [joint] = robot.joints;
  const slow = {
    ...joint!,
    velocityRadPerSMax: 2,
    stop: { ...joint!.stop, accelerationRadPerS2: 4 },
  };
  expect(stopNsMinOf({ ...robot, joints: [joint!, slow] })).toBe(510_000_000 as never);
});
