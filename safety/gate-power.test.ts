// Tests of the gate while the actuators have no power: the command is where the robot is, as far as
// that is known, and stays where it was as far as it is not.

import { expect, test } from "bun:test";
import { testJoint, testProfile } from "./fixture.ts";
import { GateBench, gateBench } from "./gate-bench.ts";

test("without power the command stands at once, where the robot is", () => {
  const one = gateBench().measure(0);
  for (let tick = 0; tick < 40; tick += 1) one.measure(one.move(1.8)[0]!);
  expect(one.gate.atRest).toBe(false);
  one.measure(0.4).gate.follow(one.state);
  expect([one.gate.atRest, ...one.gate.command]).toEqual([true, 0.4]);
  expect(one.hold()).toEqual([0.4]);
});

test("a reading that is no number moves no command, also after good ones", () => {
  const one = gateBench().measure(0.5);
  one.hold();
  one.measure(Number.NaN).gate.follow(one.state);
  expect([one.gate.seeded, ...one.gate.command]).toEqual([true, 0.5]);
});

test("one reading of a robot that nobody has watched is believed by no command", () => {
  const one = new GateBench([testJoint()], { supervisor: testProfile().supervisor });
  one.measure(0.5).gate.follow(one.state);
  expect([one.gate.seeded, ...one.gate.command]).toEqual([false, 0]);
  // Three that agree are.
  for (const rad of [0.5, 0.501, 0.502]) {
    one.measure(rad).judge();
    one.hold();
  }
  expect(one.gate.seeded).toBe(true);
});
