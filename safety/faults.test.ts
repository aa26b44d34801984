// Tests over the whole fault table: its order, its names, and what the design fixes in its cells.
// A new fault fails here until every cell of its row was thought of.

import { expect, test } from "bun:test";
import { Reason, reasonNames } from "../runtime/contracts/reason.ts";
import {
  countsAtRest,
  FAULT_COUNT,
  Fault,
  faultMask,
  faultNames,
  faultOfReason,
  faultRows,
} from "./faults.ts";

test("every fault has one row, at its code, under a name of its own", () => {
  expect(faultRows.map((row) => row.fault)).toEqual(Object.values(Fault));
  expect(faultRows.length).toBe(FAULT_COUNT);
  expect(new Set(faultNames).size).toBe(FAULT_COUNT);
  expect(faultNames).toEqual(
    Object.keys(Fault).map((key) =>
      key.replace(/\B[A-Z]/g, (letter) => `_${letter}`).toLowerCase(),
    ),
  );
  expect(FAULT_COUNT).toBeLessThan(31); // a bit each in one number
});

test("a reason is counted as the fault of its name, or as none", () => {
  const none = ["ok", "stop", "hypothesis_unsupported", "source_missing", "policy_threw"];
  const found = reasonNames.map((_, reason) => faultNames[faultOfReason[reason]!] ?? "none");
  expect(found).toEqual(reasonNames.map((name) => (none.includes(name) ? "none" : name)));
  expect(faultOfReason[Reason.Ok]).toBe(-1);
});

test("what stops a tick leaves no motion, and a warning never takes any", () => {
  for (const fault of faultOfReason) {
    if (fault >= 0) expect(faultRows[fault]!.motion).toBe("none");
  }
  for (const row of faultRows) {
    if (row.severity === "stop" || row.severity === "latch") expect(row.motion).toBe("none");
    if (row.severity === "warning") expect(row.motion).toBe("full");
  }
});

test("a slow policy takes speed, never the robot: its fault does not escalate", () => {
  expect(faultRows[Fault.PolicySlow]).toEqual({
    fault: Fault.PolicySlow,
    name: "policy_slow",
    severity: "degraded",
    motion: "reduced",
    persist: "never",
    clear: "whenClear",
    subject: "policy",
  });
});

test("ticks over their budget take speed, never the robot, and hold up no person", () => {
  const row = faultRows[Fault.OverBudget]!;
  expect(row as object).toEqual({
    fault: 25,
    name: "over_budget",
    severity: "degraded",
    motion: "reduced",
    persist: "never",
    clear: "whenClear",
    subject: "host",
  });
  expect(countsAtRest(row)).toBe(false);
});

test("a late simulated world holds the robot, and neither escalates nor holds up a person", () => {
  const { severity, motion, persist, clear } = faultRows[Fault.WorldLate]!;
  expect([severity, motion, persist, clear]).toEqual(["degraded", "none", "never", "whenClear"]);
  const silentAtRest = faultRows.filter((row) => !countsAtRest(row)).map((row) => row.name);
  expect(silentAtRest).toEqual([
    ...["no_action", "schema_mismatch", "width_mismatch", "not_finite", "start_mismatch"],
    ...["policy_lost", "policy_slow", "main_slow", "world_late", "over_budget"],
  ]);
});

test("the design's persistence stands in the rows", () => {
  const persists = faultRows.map((row) => [row.name, row.persist]);
  expect(Object.fromEntries(persists)).toEqual({
    operator_stop: "at_once",
    stale_state: "stale",
    stamp_in_future: "stale",
    low_quality: "stale",
    no_action: "no_action",
    schema_mismatch: "no_action",
    width_mismatch: "no_action",
    not_finite: "no_action",
    start_mismatch: "no_action",
    following_error: "at_once",
    control_late: "stale",
    control_missed: "at_once",
    driver_lost: "at_once",
    policy_lost: "no_action",
    policy_slow: "never",
    main_slow: "never",
    suspended: "at_once",
    gate_infeasible: "at_once",
    overspeed: "at_once",
    overload: "at_once",
    estop_open: "at_once",
    estop_not_armed: "never",
    control_away: "at_once",
    world_late: "never",
    estop_stop: "at_once",
    over_budget: "never",
  });
});

test("a mask has the bits of the rows that fit", () => {
  const latches = [Fault.DriverLost, Fault.EstopOpen, Fault.EstopStop].reduce(
    (mask, fault) => mask | (1 << fault),
    0,
  );
  expect(faultMask((row) => row.severity === "latch")).toBe(latches);
  expect(faultMask((row) => row.clear === "onOperator")).toBe(1 << Fault.OperatorStop);
  expect(faultMask(() => true)).toBe(2 ** FAULT_COUNT - 1);
});
