// Sources that are equally old: the state names the first of them, in the profile's order, and
// takes nothing from the others but their joints.

import { expect, test } from "bun:test";
import { testJoint, testProfile } from "../../safety/fixture.ts";
import { SampleSlot, SensorSnapshot } from "../contracts/sample.ts";
import { StateLayout, StateSlot, StateView } from "../contracts/state.ts";
import { instant, milliseconds } from "../contracts/units.ts";
import { StateEstimator } from "./estimator.ts";

const MS = 1e6;

test("of sources with the same stamp the first is named, with its own receipt", () => {
  const sources = ["a", "b"].map((joint) => ({
    id: `bus-${joint}`,
    kind: "proprio" as const,
    periodNs: milliseconds(5),
    validityNs: milliseconds(15),
    joints: [joint],
    measuresVelocity: false,
    measuresEffort: false,
    frame: "joint",
  }));
  const profile = testProfile([testJoint({ name: "a" }), testJoint({ name: "b" })], { sources });
  const layout = new StateLayout(profile, sources, "");
  const state = new StateView(new Float64Array(layout.slotCount), layout);
  const snapshot = new SensorSnapshot(sources);
  snapshot.clear();
  for (const [index, receivedMs] of [11, 12].entries()) {
    const { record, payload } = snapshot.samples[index]!;
    record[SampleSlot.sensorStampNs] = 10 * MS;
    record[SampleSlot.receiveNs] = receivedMs * MS;
    record[SampleSlot.validMask] = 1;
    payload[0] = index + 0.5;
    snapshot.arrived[index] = 1;
  }
  new StateEstimator(profile, layout).estimateInto(state, snapshot, instant(13 * MS));
  expect(state.record[StateSlot.sourceIndex]).toBe(0);
  expect(state.record[StateSlot.receivedNs]).toBe(11 * MS);
  expect([...state.positionRad]).toEqual([0.5, 1.5]);
});
