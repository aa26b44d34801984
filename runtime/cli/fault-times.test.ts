// Injected faults are told when they begin and end, in the order of time and once each: one that
// lasts to the end has no end to tell, and one on several sources is told once.

import { expect, test } from "bun:test";
import { FaultTimes } from "./fault-times.ts";
import { runOptions } from "./run-command.ts";

test("each moment is told once it is reached, in order", () => {
  const fault = ["drop:proprio@2s+1s", "freeze:cube_pose@2.5s", "noise:joints=0.1"];
  const times = new FaultTimes(runOptions("so101", { fault }).plan);
  const told: string[] = [];
  const until = (sessionNs: number) => times.tellUntil(sessionNs, (text) => told.push(text));
  until(0);
  until(1.999e9);
  expect(told).toEqual(["0.000 s  fault noise:joints=0.1 begins"]);
  until(2e9);
  until(2e9);
  until(9e9);
  expect(told.slice(1)).toEqual([
    "2.000 s  fault drop:proprio@2s+1s begins",
    "2.500 s  fault freeze:cube_pose@2.5s begins",
    "3.000 s  fault drop:proprio@2s+1s ends",
  ]);
});
