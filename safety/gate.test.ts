// Tests of the gate: what it refuses and in which order, what it mints, how it holds and re-arms,
// and what it watches. Each expected number is worked out by hand from the fixture's limits.

import { expect, test } from "bun:test";
import { ActionSample } from "../runtime/contracts/action-sample.ts";
import { CommandKind, CommandSlot, RepairBit } from "../runtime/contracts/command.ts";
import { Mode } from "../runtime/contracts/mode.ts";
import type { JointProfile, RobotProfile } from "../runtime/contracts/profile.ts";
import { Reason } from "../runtime/contracts/reason.ts";
import type { StateView } from "../runtime/contracts/state.ts";
import { StateSlot } from "../runtime/contracts/state.ts";
import { instant, milliseconds } from "../runtime/contracts/units.ts";
import { Fault } from "./faults.ts";
import { testJoint, testProfile, testState } from "./fixture.ts";
import type { ApprovedCommand } from "./gate.ts";
import { SafetyGate } from "./gate.ts";

const FINGERPRINT = 4_711;

/** A gate with one tick after another; every approval is spent as the sink would. */
class Bench {
  readonly profile: RobotProfile;
  readonly gate: SafetyGate;
  readonly action: ActionSample;
  readonly state: StateView;
  tick = 0;
  kind = -1;
  repairs = -1;

  constructor(joints: readonly JointProfile[], changes: Partial<RobotProfile> = {}) {
    this.profile = testProfile(joints, changes);
    this.gate = new SafetyGate(this.profile, FINGERPRINT);
    this.action = new ActionSample(joints.length);
    this.action.schemaFingerprint = FINGERPRINT;
    this.action.width = joints.length;
    this.state = testState(
      this.profile,
      joints.map(() => 0),
    );
  }

  get nowNs() {
    return instant(this.tick * this.profile.periodNs);
  }

  measure(...positionRad: number[]): this {
    this.state.positionRad.set(positionRad);
    this.state.record[StateSlot.stampNs] = this.nowNs;
    return this;
  }

  ask(...values: number[]): this {
    this.action.values.set(values);
    this.action.tookOver = false;
    return this;
  }

  takeOver(...values: number[]): this {
    this.ask(...values).action.tookOver = true;
    return this;
  }

  judge(): Reason {
    return this.gate.judge(this.action, this.state);
  }

  /** One tick of motion; the command's values. */
  move(...values: number[]): number[] {
    this.ask(...values);
    expect(this.judge()).toBe(Reason.Ok);
    return this.spend(
      this.gate.approveMotion(this.action, this.state, this.tick, this.nowNs, Mode.Running),
    );
  }

  /** One tick of the safe action. */
  hold(reason: Reason = Reason.NoAction): number[] {
    return this.spend(
      this.gate.approveSafe(this.state, reason, this.tick, this.nowNs, Mode.Degraded),
    );
  }

  spend(command: ApprovedCommand): number[] {
    this.gate.spend(command, this.tick);
    this.kind = command.kind;
    this.repairs = command.record[CommandSlot.repairs]!;
    this.tick += 1;
    return [...command.values];
  }
}

const bench = (changes: Partial<JointProfile> = {}) => new Bench([testJoint(changes)]);
/** Limits so wide that one tick reaches any target. */
const free = {
  velocityRadPerSMax: 1e3,
  motion: { accelerationRadPerS2: 1e9, jerkRadPerS3: 1e9 },
  stop: { accelerationRadPerS2: 1e9, jerkRadPerS3: 1e9 },
} as const;

/** The fixture of the document: 50 Hz, 5 rad/s, lead of one period, no droop. */
function documentOne(): Bench {
  const rates = { accelerationRadPerS2: 1e4, jerkRadPerS3: 1e7 };
  const joint = testJoint({
    positionRadMin: -100,
    positionRadMax: 100,
    velocityRadPerSMax: 5,
    motion: rates,
    stop: rates,
    leadNs: milliseconds(20),
    droopRad: 0,
    followingErrorRadMax: 10,
    startMismatchRadMax: 10,
  });
  return new Bench([joint], { controlHz: 50, periodNs: milliseconds(20) });
}

test("the document's numbers: 0.70 to 0.80, and 0.85 when the robot has only reached 0.75", () => {
  const document = documentOne().measure(0.7);
  expect(document.move(5)[0]).toBeCloseTo(0.8, 12);
  expect(document.measure(0.75).move(5)[0]).toBeCloseTo(0.85, 12);
});

test("what is wrong is refused, in order: state, schema, width, number, start", () => {
  const { gate, action, state } = bench().measure(0).takeOver(1);
  const judge = () => gate.judge(action, state);
  expect(judge()).toBe(Reason.StartMismatch);
  action.values[0] = Number.NaN;
  expect(judge()).toBe(Reason.NotFinite);
  action.width = 2;
  expect(judge()).toBe(Reason.WidthMismatch);
  action.schemaFingerprint = 1;
  expect(judge()).toBe(Reason.SchemaMismatch);
  state.positionRad[0] = Number.NaN;
  expect(judge()).toBe(Reason.LowQuality);
});

test("no value that is no number passes, wherever it stands", () => {
  for (const bad of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
    for (const joint of [0, 1, 2]) {
      const arm = new Bench([testJoint(), testJoint(), testJoint()]).measure(0, 0, 0);
      arm.action.values[joint] = bad;
      expect(arm.judge()).toBe(Reason.NotFinite);
      arm.ask(0, 0, 0).state.positionRad[joint] = bad;
      expect(arm.judge()).toBe(Reason.LowQuality);
    }
  }
  const odd = bench(free).measure(0);
  for (const value of [-0, 5e-324, 1e308, -1e308]) expect(odd.ask(value).judge()).toBe(Reason.Ok);
});

test("a motion command says all that a driver and a record need", () => {
  const one = bench(free).measure(0.01);
  one.hold(Reason.NotFinite);
  Object.assign(one.action, { epoch: 3, seq: 7, row: 2 });
  one.tick = 4;
  one.measure(0.01).ask(0.02);
  expect(one.judge()).toBe(Reason.Ok);
  const { action, gate, nowNs, state, tick } = one;
  const { record } = gate.approveMotion(action, state, tick, nowNs, Mode.Degraded);
  //        tick, stamp, expires, kind, epoch, seq, row, reason, mode, repairs, state stamp
  const head = [4, 20e6, 35e6, CommandKind.Motion, 3, 7, 2, Reason.Ok, Mode.Degraded, 0, 20e6];
  expect([...record]).toEqual([...head, 0, 0, 0, 0, 0, 0.02]);
});

test("a safe command says its reason and names no decision", () => {
  const one = bench().measure(0.5);
  Object.assign(one.action, { epoch: 3, seq: 7, row: 2 });
  one.move(0.5);
  one.state.record[StateSlot.epoch] = 9;
  one.tick = 2;
  const { gate, nowNs, state, tick } = one;
  const { record } = gate.approveSafe(state, Reason.NoAction, tick, nowNs, Mode.SafeStop);
  const head = [2, 10e6, 25e6, CommandKind.Hold, 9, 0, 0, Reason.NoAction, Mode.SafeStop, 0, 0];
  expect([...record]).toEqual([...head, 0, 0, 0, 0, 0, 0.5]);
});

test("before the gate has seen the robot there is no command to hold", () => {
  for (const reason of [Reason.StaleState, Reason.StampInFuture, Reason.LowQuality]) {
    const one = bench().measure(0.5);
    expect(one.hold(reason)).toEqual([0]);
    expect([one.kind, one.gate.seeded]).toEqual([CommandKind.None, false]);
  }
  const old = bench().measure(0.5);
  old.tick = 3; // 15 ms later the state is stale, though a stop hides that
  old.hold(Reason.Stop);
  expect([old.kind, old.gate.seeded]).toEqual([CommandKind.None, false]);
  const lost = bench().measure(Number.NaN);
  lost.hold(Reason.NoAction);
  expect([lost.kind, lost.gate.seeded]).toEqual([CommandKind.None, false]);
});

test("the first fresh state seeds the hold, also while a stop is asked for", () => {
  for (const reason of [Reason.NoAction, Reason.Stop, Reason.NotFinite]) {
    const one = bench().measure(0.5);
    expect(one.hold(reason)).toEqual([0.5]);
    expect([one.kind, one.gate.seeded, one.gate.atRest]).toEqual([CommandKind.Hold, true, true]);
  }
});

test("the first motion starts from the measured position, at rest", () => {
  const one = bench().measure(0.5);
  expect(one.move(0.6)[0]).toBeCloseTo(0.5 + 600 * 0.005 ** 3, 12);
  expect([one.kind, one.gate.seeded, one.gate.atRest]).toEqual([CommandKind.Motion, true, false]);
});

test("hold repeats the command and never follows gravity: a servo may droop, and droop on", () => {
  const one = bench().measure(1);
  one.hold();
  for (let tick = 0; tick < 12_000; tick += 1) {
    one.measure(1 - 0.06 - (tick % 100) * 1e-4); // sags, and swings a little
    expect(one.hold(tick % 2 === 0 ? Reason.NoAction : Reason.StaleState)).toEqual([1]);
    expect(one.gate.watch(one.state, Reason.NoAction)).toBe(0);
  }
});

test("in motion a drooping servo keeps its command too: lead leaves room for the droop", () => {
  const one = bench().measure(1);
  for (let tick = 0; tick < 2_000; tick += 1) {
    expect(one.move(1)).toEqual([1]);
    expect([one.repairs, one.gate.watch(one.state, Reason.Ok)]).toEqual([0, 0]);
    one.measure(1 - 0.079);
  }
});

test("hold brakes first: from full speed within stop limits, on past where it was asked", () => {
  const one = bench({ leadNs: milliseconds(500) }).measure(0);
  for (let tick = 0; tick < 60; tick += 1) one.measure(one.move(1.8)[0]!);
  const from = one.gate.command[0]!;
  const at: number[] = [];
  while (!one.gate.atRest) at.push(one.hold(Reason.StaleState)[0]!);
  // 2.925, 2.775 … 0.075 rad/s: 15 rad/s2 in the first tick and the last, 30 between; then rest.
  expect(at[19]! - from).toBeCloseTo(((20 * (2.925 + 0.075)) / 2) * 0.005, 9);
  expect(at.at(-1)! - at[19]!).toBeCloseTo(0, 9);
  expect(at.length).toBeLessThanOrEqual(23);
  expect(one.hold(Reason.StaleState)[0]).toBe(at.at(-1)!);
});

test("repairs are counted by tick, in the order of their names", () => {
  const one = bench().measure(0);
  one.move(0); // nothing
  one.move(0.001); // acceleration, jerk
  one.move(1); // velocity, acceleration, jerk, lead
  one.move(3); // position, velocity, acceleration, jerk, lead
  one.hold();
  expect([...one.gate.repairCounts]).toEqual([1, 2, 3, 2, 3, 0, 0, 0]);
});

test("a chunk that starts far from the last command is refused in the tick it takes over", () => {
  const one = bench(free).measure(0);
  one.move(1);
  one.measure(0.5); // lags behind its command
  expect(one.takeOver(1.29).judge()).toBe(Reason.Ok);
  expect(one.takeOver(1.31).judge()).toBe(Reason.StartMismatch);
  expect(one.takeOver(0.69).judge()).toBe(Reason.StartMismatch);
  expect(one.ask(1.31).judge()).toBe(Reason.Ok);
});

test("a chunk may start exactly at the limit of the mismatch", () => {
  const one = bench({ ...free, startMismatchRadMax: 0.25 }).measure(0);
  expect([0.25, -0.25, 0.250_001].map((value) => one.takeOver(value).judge())).toEqual([
    Reason.Ok,
    Reason.Ok,
    Reason.StartMismatch,
  ]);
});

test("at rest after a gap or a start, the robot itself is what a chunk must start near", () => {
  const one = bench(free).measure(0);
  one.move(1);
  one.hold();
  expect(one.gate.atRest).toBe(false); // it stands, and the brake still has to ease off
  one.hold();
  expect(one.gate.atRest).toBe(true);
  one.measure(0.5);
  expect(one.takeOver(0.79).judge()).toBe(Reason.Ok);
  expect(one.takeOver(0.81).judge()).toBe(Reason.StartMismatch);
  const unseeded = bench().measure(0.5);
  expect(unseeded.takeOver(0.81).judge()).toBe(Reason.StartMismatch);
  expect(unseeded.takeOver(0.79).judge()).toBe(Reason.Ok);
});

test("a brake still under way judges a takeover by the command, not by a robot that lags", () => {
  const one = bench().measure(0);
  for (let tick = 0; tick < 60; tick += 1) one.measure(one.move(1.8)[0]! - 0.12);
  one.hold();
  const command = one.gate.command[0]!;
  expect(one.takeOver(command + 0.29).judge()).toBe(Reason.Ok);
  expect(one.takeOver(command - 0.31).judge()).toBe(Reason.StartMismatch);
});

test("the ramp rule walks from the mismatch within the limits, and says so until the end", () => {
  const one = new Bench([testJoint()], { gate: { startMismatch: "ramp", followingErrorTicks: 3 } });
  one.measure(0);
  expect(one.takeOver(1).judge()).toBe(Reason.Ok);
  const ticks: number[] = [];
  for (let tick = 0; one.gate.command[0] !== 1; tick += 1) {
    one.measure(one.move(1)[0]!);
    // `move` judges again, without a takeover: the ramp goes on.
    if ((one.repairs & RepairBit.StartRamp) !== 0) ticks.push(tick);
  }
  expect(ticks).toEqual(ticks.map((_, index) => index));
  expect(ticks.length).toBe(one.tick);
  one.move(1);
  expect(one.repairs).toBe(0);
});

test("a safe action ends a ramp", () => {
  const one = new Bench([testJoint()], { gate: { startMismatch: "ramp", followingErrorTicks: 3 } });
  one.measure(0).takeOver(1);
  one.judge();
  one.hold();
  one.move(0.1);
  expect(one.repairs & RepairBit.StartRamp).toBe(0);
});

test("limits that contradict each other brake in that tick, and are a fault in the next", () => {
  const wheel = testJoint({ command: "velocity", leadNs: milliseconds(30) });
  const one = new Bench([wheel]).measure(-50);
  for (let tick = 0; tick < 100; tick += 1) one.move(3);
  expect([one.kind, one.gate.watch(one.state, Reason.Ok)]).toEqual([CommandKind.Motion, 0]);
  one.measure(1.9); // the stop takes 0.15 rad, and the limit is 0.1 rad away
  expect(one.move(3)[0]).toBeCloseTo(3 - 15 * 0.005, 12);
  expect(one.kind).toBe(CommandKind.Brake);
  expect(one.gate.watch(one.state, Reason.Ok)).toBe(1 << Fault.GateInfeasible);
  expect(one.gate.watch(one.state, Reason.StaleState)).toBe(1 << Fault.GateInfeasible);
  one.hold();
  expect(one.gate.watch(one.state, Reason.Ok)).toBe(0);
});

test("a following error is judged by the command of lead ago, and a fault after its ticks", () => {
  const one = bench({ ...free, leadNs: milliseconds(15), followingErrorRadMax: 0.2 }).measure(0);
  const seen: number[] = [];
  for (let tick = 0; tick < 8; tick += 1) {
    seen.push(one.gate.watch(one.state, Reason.Ok));
    one.move(0.3); // the robot stays at 0
  }
  // Moved in tick 0; three ticks ago from tick 3 on; three ticks in a row at tick 5.
  expect(seen).toEqual([0, 0, 0, 0, 0, 1, 1, 1].map((bit) => bit << Fault.FollowingError));
  one.measure(0.11);
  expect(one.gate.watch(one.state, Reason.Ok)).toBe(0);
  one.measure(0);
  expect(one.gate.watch(one.state, Reason.Ok)).toBe(0); // the count begins anew
});

test("a following error at the limit is none, and each joint counts its own ticks", () => {
  const joint = testJoint({ ...free, leadNs: milliseconds(5), followingErrorRadMax: 0.25 });
  const one = new Bench([joint, joint]).measure(0, 0);
  one.move(0.25, 0.25);
  const watch = (...positionRad: number[]) =>
    one.measure(...positionRad).gate.watch(one.state, Reason.Ok);
  for (let tick = 0; tick < 5; tick += 1) expect(watch(0, 0)).toBe(0);
  const off = [watch(-0.1, 0), watch(-0.1, 0.6), watch(0, 0.6), watch(-0.1, 0.6)];
  expect(off).toEqual([0, 0, 0, 1 << Fault.FollowingError]);
});

test("each joint is judged by its own lead, against its own commands", () => {
  const joint = { ...free, followingErrorRadMax: 0.2 };
  const leads = [5, 15, 10].map((ms) => testJoint({ ...joint, leadNs: milliseconds(ms) }));
  const oneTick = { startMismatch: "refuse", followingErrorTicks: 1 } as const;
  for (const moved of [0, 1, 2]) {
    const one = new Bench(leads, { gate: oneTick }).measure(0.5, 0.5, 0.5);
    const values = [0.5, 0.5, 0.5];
    for (let tick = 0; tick < 3; tick += 1) one.move(...values);
    values[moved] = 0.8;
    const seen = [0, 1, 2, 3].map(() => {
      one.move(...values);
      return one.gate.watch(one.state, Reason.Ok);
    });
    const leadTicks = [1, 3, 2][moved]!;
    const fault = 1 << Fault.FollowingError;
    expect(seen).toEqual([1, 2, 3, 4].map((ago) => (ago >= leadTicks ? fault : 0)));
  }
});

test("ticks of a following error before a hold do not count after it", () => {
  const one = bench({ ...free, leadNs: milliseconds(5), followingErrorRadMax: 0.2 }).measure(0);
  one.move(0.25);
  const watch = () => one.gate.watch(one.state, Reason.Ok);
  expect([watch(), watch()]).toEqual([0, 0]);
  one.hold();
  one.hold();
  watch();
  one.move(0.25);
  expect([watch(), watch(), watch()]).toEqual([0, 0, 1 << Fault.FollowingError]);
});

test("a blind tick neither counts a following error nor forgets it", () => {
  const one = bench({ ...free, leadNs: milliseconds(5), followingErrorRadMax: 0.2 }).measure(0);
  one.move(0.25);
  const watch = (reason: Reason) => one.gate.watch(one.state, reason);
  expect([watch(Reason.Ok), watch(Reason.NoAction)]).toEqual([0, 0]);
  const blind = [Reason.StaleState, Reason.StampInFuture, Reason.LowQuality, Reason.Stop];
  expect(blind.map(watch)).toEqual([0, 0, 0, 0]);
  expect(watch(Reason.Ok)).toBe(1 << Fault.FollowingError);
});

test("a held robot may be moved by hand: no fault, and re-arming takes it as it is", () => {
  const one = bench().measure(0.5);
  one.hold();
  for (let tick = 0; tick < 10; tick += 1) {
    one.measure(-0.5);
    expect(one.gate.watch(one.state, Reason.NoAction)).toBe(0);
    one.hold();
  }
  one.gate.rearm(one.state);
  for (let tick = 0; tick < 20; tick += 1) {
    expect(one.move(-0.5)).toEqual([-0.5]);
    expect(one.gate.watch(one.state, Reason.Ok)).toBe(0);
  }
});

test("re-arming keeps the held command within droop, and takes measured beyond it", () => {
  const held = (measuredRad: number) => {
    const one = bench({ droopRad: 0.125 }).measure(1);
    one.hold();
    one.measure(measuredRad).gate.rearm(one.state);
    return one.hold()[0];
  };
  expect([0.875, 1.125, 0.874, 1.126].map(held)).toEqual([1, 1, 0.874, 1.126]);
});

test("re-arming goes by every joint, and one beyond droop takes all as measured", () => {
  const one = new Bench([testJoint(), testJoint()]).measure(1, 1);
  one.hold();
  one.measure(0.95, 0.5).gate.rearm(one.state);
  expect(one.hold()).toEqual([0.95, 0.5]);
});

test("re-arming while a brake is under way lets the brake go on: nothing jumps", () => {
  const one = bench({ leadNs: milliseconds(500) }).measure(0);
  for (let tick = 0; tick < 60; tick += 1) one.measure(one.move(1.8)[0]!);
  const before = one.hold()[0]!;
  const twin = before + 2.775 * 0.005; // the next step of a brake from 3 rad/s
  one.measure(0).gate.rearm(one.state);
  expect(one.hold()[0]).toBeCloseTo(twin, 9);
});

test("re-arming on a position that is no number keeps what is held", () => {
  const one = bench().measure(1);
  one.hold();
  one.measure(Number.NaN).gate.rearm(one.state);
  expect(one.hold()).toEqual([1]);
});

test("re-arming before the first command seeds it", () => {
  const one = bench().measure(0.25);
  one.gate.rearm(one.state);
  expect([one.gate.seeded, ...one.hold(Reason.StaleState)]).toEqual([true, 0.25]);
});

test("what others write into a command changes neither the next one nor the hold", () => {
  const one = bench().measure(0.5);
  one.hold();
  one.gate.command[0] = 2;
  expect(one.hold()).toEqual([0.5]);
});

test("a velocity joint stands still when held, and no start or lag is judged in radians", () => {
  const one = bench({ command: "velocity" }).measure(1.5);
  expect(one.hold()).toEqual([0]);
  expect(one.takeOver(3).judge()).toBe(Reason.Ok);
  for (let tick = 0; tick < 20; tick += 1) one.move(0.5);
  expect(one.gate.watch(one.measure(-1.5).state, Reason.Ok)).toBe(0);
  expect(one.gate.command[0]).toBe(0.5);
  while (!one.gate.atRest) one.hold();
  one.measure(1).gate.rearm(one.state);
  expect(one.hold()).toEqual([0]);
});

test("our own mistakes end the thread", () => {
  const one = bench().measure(0);
  const approve = () =>
    one.gate.approveMotion(one.action, one.state, one.tick, one.nowNs, Mode.Running);
  expect(approve).toThrow("motion is approved only after it was judged Ok");
  one.move(0);
  expect(approve).toThrow("motion is approved only after it was judged Ok");
  one.ask(Number.NaN).judge();
  expect(approve).toThrow("motion is approved only after it was judged Ok");
  one.ask(0).judge();
  one.hold();
  expect(approve).toThrow("motion is approved only after it was judged Ok");
  one.tick -= 1;
  expect(() => one.hold()).toThrow("one approval per tick, in order");
  expect(() => new SafetyGate(testProfile(), 0.5)).toThrow("the schema fingerprint");
  const sits = testProfile([testJoint()], { safeAction: "sit" });
  expect(() => new SafetyGate(sits, 1)).toThrow("the safe action is one this gate has");
  const hasty = testProfile([testJoint()], {
    gate: { startMismatch: "refuse", followingErrorTicks: 0 },
  });
  expect(() => new SafetyGate(hasty, 1)).toThrow("a following error is counted from one tick");
  const other = new Bench([testJoint(), testJoint()]);
  expect(() => one.gate.judge(one.action, other.state)).toThrow("one measured position per joint");
  expect(() => one.gate.watch(other.state, Reason.Ok)).toThrow("one measured position per joint");
  expect(() => one.gate.rearm(other.state)).toThrow("one measured position per joint");
});
