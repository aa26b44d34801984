// The driver conformance suite: what every robot must do behind its halves, as cases that any test
// runner can run. A driver without an excuse passes all; there is no way to leave one out.
//
// The cases command, observe and compare samples; they never look inside the driver. Each case gets
// a robot of its own from `make`, inactive and at home, at session time 0.

import { CommandKind } from "../runtime/contracts/command.ts";
import { NS_PER_S } from "../runtime/contracts/units.ts";
import { COMMAND_PERIODS, ConformanceBench, must } from "./conformance-bench.ts";
import type { ConformanceRig } from "./conformance-bench.ts";
import { HalError } from "./lifecycle.ts";
import { LifecycleState } from "./robot.ts";

export type ConformanceCase = { readonly name: string; run(): void };

/** Far above any tolerance, far below any limit. */
const OFFSET_RAD = 0.1;
const HALF_SECOND_NS = NS_PER_S / 2;

/** Every case, for robots that `make` builds. A case throws ConformanceError. */
export function conformanceCases(make: () => ConformanceRig): readonly ConformanceCase[] {
  return Object.entries(cases).map(([name, check]) => ({
    name,
    run: () => {
      const rig = make();
      try {
        check(new ConformanceBench(rig));
      } finally {
        rig.dispose();
      }
    },
  }));
}

/** The cases that also hold for a robot that cannot be driven. */
export function sensorConformanceCases(make: () => ConformanceRig): readonly ConformanceCase[] {
  return conformanceCases(make).filter(({ name }) => sensorCases.has(name));
}

const cases: Readonly<Record<string, (bench: ConformanceBench) => void>> = {
  "every joint is read by name, and by one source": readsEveryJoint,
  "samples come at the rate of their source, each newer than the last": keepsRate,
  "observing again brings nothing new and clears the arrival flags": observesOnce,
  "a silent device gives no samples": staysSilent,
  "stamps and sequence ids go on across a reset": goesOnAcrossReset,
  "each joint follows its own command, in rad": followsCommands,
  "velocity is the derivative of position": agreesOnVelocity,
  "nothing is driven unless active": drivesOnlyActive,
  "a command that is over is not followed": letsGoAtExpiry,
  "a command of kind none changes nothing": ignoresNone,
  "a command that is not finite is refused whole": refusesNotFinite,
  "activation makes the present the goal": activatesWithoutJump,
  "holding again and again stays put": holdsStill,
  "activate, deactivate and close may be repeated": repeats,
  "a closed device is silent, deaf and stays closed": staysClosed,
  "reset goes home, and a real robot refuses it while active": resets,
};

const sensorCases: ReadonlySet<string> = new Set([
  "every joint is read by name, and by one source",
  "samples come at the rate of their source, each newer than the last",
  "observing again brings nothing new and clears the arrival flags",
  "stamps and sequence ids go on across a reset",
  "activate, deactivate and close may be repeated",
  "a closed device is silent, deaf and stays closed",
]);

/** At rest where gravity leaves it, and active. */
function activeAtRest(bench: ConformanceBench): Float64Array {
  bench.cycle();
  bench.rig.robot.lifecycle.activate(bench.nowNs);
  bench.drive(
    bench.positionRad.slice(),
    new Float64Array(bench.positionRad.length),
    bench.rig.settleNs,
  );
  return bench.positionRad.slice();
}

function readsEveryJoint(bench: ConformanceBench): void {
  bench.wait(bench.rig.settleNs);
  const read = bench.rig.sources.flatMap((source) => source.joints).sort();
  const names = bench.rig.joints.map((joint) => joint.name).sort();
  must(`${read}` === `${names}`, `the joints ${names} to be read`, `${read}`);
  for (const [joint, { name }] of bench.rig.joints.entries()) {
    const foundRad = bench.positionRad[joint]!;
    must(Number.isFinite(foundRad), `a position of "${name}"`, `${foundRad}`);
  }
}

function keepsRate(bench: ConformanceBench): void {
  bench.wait(NS_PER_S);
  for (const [index, source] of bench.rig.sources.entries()) {
    if (source.kind === "image") continue;
    const periodNs = Math.max(source.periodNs, bench.rig.periodNs);
    const expected = Math.floor(NS_PER_S / periodNs);
    const found = bench.sampleCounts[index]!;
    const about = Math.abs(found - expected) <= 1 + expected * 0.02;
    must(about, `${expected} samples of "${source.id}" in a second`, `${found}`);
  }
}

function observesOnce(bench: ConformanceBench): void {
  bench.wait(HALF_SECOND_NS);
  bench.rig.robot.sensor.observeInto(bench.snapshot, bench.nowNs);
  must(!bench.snapshot.arrived.includes(1), "no new sample without time passing", "one");
}

function staysSilent(bench: ConformanceBench): void {
  bench.wait(HALF_SECOND_NS);
  bench.rig.silence();
  const before = bench.sampleCounts.slice();
  bench.wait(HALF_SECOND_NS);
  must(
    `${bench.sampleCounts}` === `${before}`,
    `no sample after ${before}`,
    `${bench.sampleCounts}`,
  );
}

function goesOnAcrossReset(bench: ConformanceBench): void {
  bench.wait(HALF_SECOND_NS);
  bench.rig.robot.lifecycle.reset(1);
  const before = bench.sampleCounts.slice();
  bench.wait(HALF_SECOND_NS); // the bench refuses a stamp or sequence id that goes back
  for (const [index, source] of bench.rig.sources.entries()) {
    if (source.kind === "image") continue;
    const isMore = bench.sampleCounts[index]! > before[index]!;
    must(isMore, `samples of "${source.id}" after a reset`, "none");
  }
}

function followsCommands(bench: ConformanceBench): void {
  const restRad = activeAtRest(bench);
  for (const [joint, { name }] of bench.rig.joints.entries()) {
    const offsetRad = bench.offsetOf(joint, OFFSET_RAD);
    const goalRad = restRad.map((rad, other) => rad + offsetRad[other]!);
    bench.drive(restRad, offsetRad, bench.rig.settleNs + NS_PER_S);
    bench.mustBeAt(goalRad, `after "${name}" was driven ${offsetRad[joint]!} rad`);
    const backRad = offsetRad.map((rad) => -rad);
    bench.drive(goalRad, backRad, bench.rig.settleNs + NS_PER_S);
  }
}

function agreesOnVelocity(bench: ConformanceBench): void {
  const restRad = activeAtRest(bench);
  const offsetRad = bench.offsetOf(0, OFFSET_RAD);
  const periodS = bench.rig.periodNs / NS_PER_S;
  const positions: number[] = [];
  const velocities: number[] = [];
  for (let tick = 0; tick < NS_PER_S / bench.rig.periodNs; tick += 1) {
    const share = (1 - Math.cos(2 * Math.PI * tick * periodS)) / 2; // there and back in a second
    bench.drive(
      restRad,
      offsetRad.map((rad) => rad * share),
      bench.rig.periodNs,
    );
    positions.push(bench.positionRad[0]!);
    velocities.push(bench.velocityRadPerS[0]!);
  }
  const isMeasured = bench.rig.sources.some((source) => source.measuresVelocity);
  if (!isMeasured) return;
  let error = 0;
  let size = 0;
  for (let index = 1; index + 1 < positions.length; index += 1) {
    const slope = (positions[index + 1]! - positions[index - 1]!) / (2 * periodS);
    error += (velocities[index]! - slope) ** 2;
    size += slope ** 2;
  }
  must(size > 0, "a joint that moves", "one at rest");
  const ratio = Math.sqrt(error / size);
  must(ratio < 0.1, "velocities within 10 % of the slope of positions", `${ratio * 100} %`);
}

function drivesOnlyActive(bench: ConformanceBench): void {
  bench.wait(bench.rig.settleNs);
  const restRad = bench.positionRad.slice();
  const offsetRad = bench.offsetOf(0, OFFSET_RAD);
  bench.drive(restRad, offsetRad, HALF_SECOND_NS);
  bench.mustBeAt(restRad, "before it was activated");
  bench.rig.robot.lifecycle.activate(bench.nowNs);
  bench.wait(HALF_SECOND_NS);
  bench.mustBeAt(restRad, "after it was activated, with a command from before");
  bench.rig.robot.lifecycle.deactivate(bench.nowNs);
  bench.drive(restRad, offsetRad, HALF_SECOND_NS);
  bench.mustBeAt(restRad, "after it was deactivated");
}

function letsGoAtExpiry(bench: ConformanceBench): void {
  const restRad = activeAtRest(bench);
  for (const [joint, rad] of restRad.entries()) bench.command.values[joint] = rad + OFFSET_RAD;
  bench.send(CommandKind.Motion, 0);
  bench.wait(HALF_SECOND_NS);
  bench.mustBeAt(restRad, "after a command that was over when it came");
  const { rig } = bench;
  bench.drive(restRad, bench.offsetOf(0, OFFSET_RAD), 10 * rig.periodNs);
  // Velocity joints stop at the last expiry, position joints end where the last command said.
  bench.wait(rig.settleNs + COMMAND_PERIODS * rig.periodNs);
  const afterRad = bench.positionRad.slice();
  bench.wait(HALF_SECOND_NS);
  bench.mustBeAt(afterRad, "after the last command was over");
  const movedRad = Math.abs(afterRad[0]! - restRad[0]!);
  const farthestRad = OFFSET_RAD + rig.toleranceRad;
  must(movedRad <= farthestRad, `at most ${farthestRad} rad of motion`, `${movedRad} rad`);
}

function ignoresNone(bench: ConformanceBench): void {
  const restRad = activeAtRest(bench);
  for (const [joint, rad] of restRad.entries()) bench.command.values[joint] = rad + OFFSET_RAD;
  bench.send(CommandKind.None, 100);
  bench.wait(HALF_SECOND_NS);
  bench.mustBeAt(restRad, "after a command of kind none");
}

function refusesNotFinite(bench: ConformanceBench): void {
  const restRad = activeAtRest(bench);
  for (const value of [Number.NaN, Infinity, -Infinity]) {
    for (const [joint, rad] of restRad.entries()) bench.command.values[joint] = rad + OFFSET_RAD;
    bench.command.values[restRad.length - 1] = value;
    bench.send(CommandKind.Motion, 100);
    bench.wait(HALF_SECOND_NS);
    bench.mustBeAt(restRad, `after a command with ${value}`);
  }
}

function activatesWithoutJump(bench: ConformanceBench): void {
  const restRad = activeAtRest(bench);
  const { lifecycle } = bench.rig.robot;
  bench.drive(restRad, bench.offsetOf(0, 5 * OFFSET_RAD), 5 * bench.rig.periodNs);
  lifecycle.deactivate(bench.nowNs);
  bench.wait(bench.rig.settleNs);
  const presentRad = bench.positionRad.slice();
  lifecycle.activate(bench.nowNs);
  bench.wait(bench.rig.settleNs);
  bench.mustBeAt(presentRad, "after activation in the middle of a motion");
}

function holdsStill(bench: ConformanceBench): void {
  const restRad = activeAtRest(bench);
  for (let tick = 0; tick < 200; tick += 1) {
    for (const [joint, { command }] of bench.rig.joints.entries()) {
      bench.command.values[joint] = command === "position" ? restRad[joint]! : 0;
    }
    bench.send(CommandKind.Hold, 3);
    if (tick % 7 === 0) bench.send(CommandKind.Hold, 3);
    bench.cycle();
  }
  bench.mustBeAt(restRad, "after 200 holds");
}

function repeats(bench: ConformanceBench): void {
  bench.cycle();
  const { lifecycle } = bench.rig.robot;
  const expect = (state: LifecycleState, act: string): void =>
    must(lifecycle.state === state, `state ${state} after ${act}`, `${lifecycle.state}`);
  for (const act of ["activate", "activate again"]) {
    lifecycle.activate(bench.nowNs);
    expect(LifecycleState.Active, act);
  }
  for (const act of ["deactivate", "deactivate again"]) {
    lifecycle.deactivate(bench.nowNs);
    expect(LifecycleState.Inactive, act);
  }
  for (const act of ["close", "close again"]) {
    lifecycle.close();
    expect(LifecycleState.Closed, act);
  }
}

function staysClosed(bench: ConformanceBench): void {
  bench.wait(HALF_SECOND_NS);
  const { lifecycle } = bench.rig.robot;
  lifecycle.activate(bench.nowNs);
  lifecycle.close();
  const before = bench.sampleCounts.slice();
  bench.drive(bench.positionRad, bench.offsetOf(0, OFFSET_RAD), HALF_SECOND_NS);
  must(`${bench.sampleCounts}` === `${before}`, "no sample from a closed device", "one");
  mustRefuse(() => lifecycle.activate(bench.nowNs), "activation of a closed device");
  lifecycle.deactivate(bench.nowNs);
  const { state } = lifecycle;
  must(state === LifecycleState.Closed, "a closed device that stays closed", `state ${state}`);
}

function resets(bench: ConformanceBench): void {
  bench.wait(bench.rig.settleNs);
  const homeRad = bench.positionRad.slice();
  const { lifecycle } = bench.rig.robot;
  lifecycle.activate(bench.nowNs);
  bench.drive(homeRad, bench.offsetOf(0, 3 * OFFSET_RAD), bench.rig.settleNs);
  if (bench.rig.isSimulated) {
    lifecycle.reset(2);
    bench.wait(bench.rig.settleNs);
    bench.mustBeAt(homeRad, "after a reset");
    return;
  }
  mustRefuse(() => lifecycle.reset(2), "a reset while active");
}

function mustRefuse(act: () => void, what: string): void {
  try {
    act();
  } catch (error) {
    must(error instanceof HalError, `a HalError for ${what}`, String(error));
    return;
  }
  must(false, `${what} to be refused`, "that it was done");
}
