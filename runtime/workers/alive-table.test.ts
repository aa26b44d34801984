// Which silences the control tick notices, and after how long, for a robot at 200 Hz and for one at
// 50 Hz; each thread is judged by its own counter.

import { expect, test } from "bun:test";
import { faultNames } from "../../safety/faults.ts";
import { loadRobot } from "../profile/load.ts";
import { ThreadSlot } from "../shm/control-words.ts";
import { aliveTable } from "./alive-table.ts";

const patience = (robot: string, isHardware: boolean) =>
  aliveTable(loadRobot(robot), isHardware).map(
    ({ thread, counterIndex, checkCountMax, faultBit }) => ({
      thread,
      ownCounter: counterIndex === ThreadSlot[thread as keyof typeof ThreadSlot],
      checks: checkCountMax,
      fault: faultNames[Math.log2(faultBit)],
    }),
  );

test("at 200 Hz a check is 100 ms: drivers get 200 ms, the policy 1.5 s, main 1 s", () => {
  expect(patience("so101", true)).toEqual([
    { thread: "robot", ownCounter: true, checks: 2, fault: "driver_lost" },
    { thread: "estop", ownCounter: true, checks: 2, fault: "estop_open" },
    { thread: "policy", ownCounter: true, checks: 15, fault: "policy_lost" },
    { thread: "main", ownCounter: true, checks: 10, fault: "main_slow" },
  ]);
});

test("at 50 Hz a check is 400 ms, and every thread gets at least one", () => {
  const checks = patience("document-one", true).map((row) => row.checks);
  expect(checks).toEqual([1, 1, 4, 3]);
});

test("beside a simulated world drivers get 2 s, and nothing else more than on hardware", () => {
  const [robot, estop, ...others] = patience("so101", false);
  expect([robot!.thread, robot!.checks, robot!.fault]).toEqual(["robot", 20, "driver_lost"]);
  expect([estop!.thread, estop!.checks, estop!.fault]).toEqual(["estop", 20, "estop_open"]);
  expect(others).toEqual(patience("so101", true).slice(2));
});

test("what a thread alone knows it reports: a robot its power line, a policy its slowness", () => {
  const reports = aliveTable(loadRobot("so101"), true).map(({ thread, reportMask }) => [
    thread,
    faultNames.filter((_, fault) => (reportMask & (1 << fault)) !== 0),
  ]);
  expect(Object.fromEntries(reports)).toEqual({
    robot: ["estop_open"],
    estop: [],
    policy: ["policy_slow"],
    main: [],
  });
});
