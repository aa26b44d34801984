// What is said of a machine that grants no real time: a warning per missing thing in simulation, a
// refusal with the lines to paste on hardware, nothing where all was granted.

import { expect, test } from "bun:test";
import type { StartReport } from "../compose.ts";
import { RealtimeRefusedError, realtimeWarnings } from "./realtime.ts";

const GRANTED = { granted: true, refusal: "" };
const refused = (refusal: string) => ({ granted: false, refusal });

const report = (control = GRANTED, memoryLock = GRANTED): StartReport => ({
  memoryLock,
  realtime: [
    { name: "robot", grant: GRANTED },
    { name: "control", grant: control },
  ],
});

test("where all was granted there is nothing to say, on hardware too", () => {
  expect([realtimeWarnings(report(), false), realtimeWarnings(report(), true)]).toEqual([[], []]);
});

test("in simulation each missing thing is one warning that says where the remedy is", () => {
  const remedy = "ticks may be late; holdfast doctor has the remedy";
  expect(realtimeWarnings(report(refused("EPERM"), refused("ENOMEM")), false)).toEqual([
    `no real-time priority for control (EPERM): ${remedy}`,
    `memory is not locked (ENOMEM): ${remedy}`,
  ]);
});

test.each([
  ["no priority", report(refused("EPERM")), "no real-time priority for control (EPERM)"],
  ["no memory lock", report(GRANTED, refused("ENOMEM")), "memory is not locked (ENOMEM)"],
])("on hardware %s refuses to arm, with the lines to paste", (_, facts, missing) => {
  const arm = () => realtimeWarnings(facts, true);
  expect(arm).toThrow(RealtimeRefusedError);
  expect(arm).toThrow(`Cannot arm on hardware: ${missing}\nprintf '%s - rtprio 95`);
});
