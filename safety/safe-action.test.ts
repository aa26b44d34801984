// Safe actions alone, tick by tick, on one joint: what each mode asks for, that everything brakes
// first, and how each action ends, seeing and blind. On whole robots: `../firmware-tests/`.

import { expect, test } from "bun:test";
import { CommandKind } from "../runtime/contracts/command.ts";
import { Mode } from "../runtime/contracts/mode.ts";
import type { JointProfile, RobotProfile } from "../runtime/contracts/profile.ts";
import { commandVec, milliseconds, radPerSVec, radVec } from "../runtime/contracts/units.ts";
import { testJoint, testProfile, testState } from "./fixture.ts";
import { freeLimits } from "./gate-bench.ts";
import { JointLimits } from "./limits.ts";
import { MotionLimiter } from "./motion-limiter.ts";
import { SafeAction } from "./safe-action.ts";
import { ToolGuard } from "./tool-guard.ts";

const { Brake, Hold, Land, Park, ReturnHome, Sit, ZeroTorque } = CommandKind;
const DT = 0.005;
type Actions = RobotProfile["safeActions"];
const hold: Actions = { degraded: "hold", stop: "hold", latch: "hold" };

/** A robot of one joint, which is where its command has brought it; one tick after another. */
class Bench {
  readonly limiter: MotionLimiter;
  readonly action: SafeAction;
  positionRad: number;
  isStuck = false;
  readonly #state;
  readonly #turns: boolean;

  constructor(
    actions: Partial<Actions>,
    joint: Partial<JointProfile> = {},
    more: Partial<RobotProfile> = {},
    startRad = 0,
  ) {
    const safeActions = { ...hold, ...actions };
    const profile = testProfile([testJoint(joint)], { safeActions, ...more });
    const limits = new JointLimits(profile);
    this.limiter = new MotionLimiter(limits, new ToolGuard(profile, limits));
    this.action = new SafeAction(profile, limits);
    this.positionRad = startRad;
    this.#turns = joint.command === "velocity";
    this.#state = testState(profile, [startRad]);
    this.limiter.seed(radVec(Float64Array.of(startRad)));
  }

  /** The kind of this tick's command. */
  tick(mode: Mode, sees = true): CommandKind {
    this.#state.positionRad[0] = this.positionRad;
    const kind = this.action.step(this.limiter, this.#state, mode, sees);
    this.#obey();
    return kind;
  }

  /** So many ticks; each kind once, with how often it came in a row. */
  ticks(count: number, mode: Mode, sees = true): [CommandKind, number][] {
    const told: [CommandKind, number][] = [];
    for (let tick = 0; tick < count; tick += 1) {
      const kind = this.tick(mode, sees);
      const last = told.at(-1);
      if (last?.[0] === kind) last[1] += 1;
      else told.push([kind, 1]);
    }
    return told;
  }

  /** Motion towards a target, as the gate approves it. */
  move(count: number, target: number): this {
    for (let tick = 0; tick < count; tick += 1) {
      const measured = radVec(Float64Array.of(this.positionRad));
      const speed = radPerSVec(Float64Array.of(this.limiter.strideRad[0]! / DT));
      this.limiter.follow(commandVec(Float64Array.of(target)), measured, speed);
      this.#obey();
    }
    return this;
  }

  #obey(): void {
    const [command] = this.limiter.command;
    if (this.isStuck) return;
    if (this.#turns) this.positionRad += command! * DT;
    else this.positionRad = command!;
  }
}

test.each([
  [Mode.Starting, [Hold, Hold]],
  [Mode.Running, [Brake, Brake]],
  [Mode.Degraded, [Brake, Brake]],
  [Mode.SafeStop, [Brake, ReturnHome]],
  [Mode.Recover, [Hold, Hold]],
  [Mode.FaultLatched, [Brake, ZeroTorque]],
])("mode %d does what the profile says for it, after a brake", (mode, kinds) => {
  const bench = new Bench({ degraded: "brake", stop: "return_home", latch: "zero_torque" });
  expect([bench.tick(mode), bench.tick(mode)]).toEqual(kinds);
});

test("what moves brakes as a stop does first, and again when the mode changes", () => {
  const bench = new Bench({ stop: "return_home", latch: "zero_torque" }, { homeRad: 1 });
  bench.move(60, 2);
  const twin = new Bench({}).move(60, 2);
  let ticks = 0;
  for (; !twin.limiter.atRest; ticks += 1) {
    twin.limiter.brake();
    expect([bench.tick(Mode.SafeStop), bench.action.stays]).toEqual([Brake, false]);
    expect(bench.limiter.command[0]).toBe(twin.limiter.command[0]!);
  }
  expect(ticks).toBeGreaterThan(10);
  expect(bench.ticks(30, Mode.SafeStop)).toEqual([[ReturnHome, 30]]);
  const [first, second] = bench.ticks(40, Mode.FaultLatched);
  expect([first![0], first![1] > 5, second![0]]).toEqual([Brake, true, ZeroTorque]);
});

test("hold and brake repeat the command and need no more of it", () => {
  for (const [degraded, kind] of [
    ["hold", Hold],
    ["brake", Brake],
  ] as const) {
    const bench = new Bench({ degraded });
    expect(bench.action.stays).toBe(false);
    expect(bench.ticks(5, Mode.Degraded)).toEqual([[kind, 5]]);
    expect([bench.action.stays, bench.action.released]).toEqual([true, false]);
    bench.action.forget();
    expect(bench.action.stays).toBe(false);
  }
});

test("what has let go stays so in every mode, until it is forgotten", () => {
  const bench = new Bench({ latch: "zero_torque" });
  expect(bench.tick(Mode.FaultLatched)).toBe(Brake);
  expect([bench.action.released, bench.action.stays]).toEqual([false, true]);
  expect(bench.tick(Mode.FaultLatched)).toBe(ZeroTorque);
  for (const mode of [Mode.FaultLatched, Mode.Recover, Mode.Running]) {
    expect([bench.tick(mode), bench.action.released, bench.action.stays]).toEqual([
      ZeroTorque,
      true,
      true,
    ]);
  }
  bench.action.forget();
  expect([bench.action.released, bench.tick(Mode.Recover)]).toEqual([false, Hold]);
});

const SIT: Partial<RobotProfile> = { sitNs: milliseconds(500) };

test("to sit takes the profile's time, evenly, and ends in letting go", () => {
  const bench = new Bench({ latch: "sit" }, { ...freeLimits, restRad: 1 }, SIT, -1);
  expect(bench.tick(Mode.FaultLatched)).toBe(Brake);
  for (let tick = 1; tick <= 100; tick += 1) {
    expect(bench.tick(Mode.FaultLatched)).toBe(Sit);
    expect(bench.limiter.command[0]).toBeCloseTo(-1 + tick / 50, 12);
    expect(bench.action.stays).toBe(false);
  }
  expect(bench.limiter.command[0]).toBe(1);
  // Its last step is lost in one tick, and what that changed in another.
  expect(bench.ticks(4, Mode.FaultLatched)).toEqual([
    [Sit, 2],
    [ZeroTorque, 2],
  ]);
});

test("a robot that sits already lets go when the time is over, not before", () => {
  const bench = new Bench({ latch: "sit" }, { restRad: 0.5 }, SIT, 0.5);
  expect(bench.ticks(102, Mode.FaultLatched)).toEqual([
    [Brake, 1],
    [Sit, 99],
    [ZeroTorque, 2],
  ]);
});

test("it sits anew from where it then is, and not before it is there does it let go", () => {
  const bench = new Bench({ latch: "sit" }, { restRad: 1 }, SIT);
  bench.ticks(50, Mode.FaultLatched);
  bench.action.forget();
  expect(bench.tick(Mode.FaultLatched)).toBe(Brake);
  while (!bench.limiter.atRest) bench.tick(Mode.FaultLatched);
  bench.isStuck = true;
  // Its command stands 0.26 rad ahead of a robot that is stuck, for good.
  expect(bench.ticks(300, Mode.FaultLatched)).toEqual([[Sit, 300]]);
  expect([bench.limiter.atRest, bench.limiter.command[0]! < 0.9]).toEqual([true, true]);
  bench.isStuck = false;
  expect(bench.ticks(300, Mode.FaultLatched).map(([kind]) => kind)).toEqual([Sit, ZeroTorque]);
  const again = new Bench({ latch: "sit" }, { ...freeLimits, restRad: 1 }, SIT);
  for (const tick of [1, 2]) {
    again.ticks(20 + tick, Mode.FaultLatched);
    again.limiter.stand();
    again.action.forget();
  }
  const from = again.positionRad;
  again.ticks(11, Mode.FaultLatched);
  expect(again.positionRad).toBeCloseTo(from + (1 - from) / 10, 9);
});

test("a robot that cannot see while it sits brakes and lets go where it is", () => {
  const bench = new Bench({ latch: "sit" }, { restRad: 1 }, SIT);
  bench.ticks(50, Mode.FaultLatched);
  expect(bench.limiter.atRest).toBe(false);
  const [first, second] = bench.ticks(40, Mode.FaultLatched, false);
  expect([first![0], second![0]]).toEqual([Brake, ZeroTorque]);
  expect(bench.positionRad).toBeLessThan(0.6);
  // What it begins to see does not make it hold again.
  expect(bench.ticks(5, Mode.FaultLatched)).toEqual([[ZeroTorque, 5]]);
});

const up: Partial<JointProfile> = {
  command: "velocity",
  positionRadMin: -1,
  positionRadMax: 5,
};
const LAND: Partial<RobotProfile> = {
  land: { joint: "joint", velocityRadPerS: 0.5, groundRad: 0.1 },
};

test("to land it comes down at the profile's speed until it is 20 mrad above the ground", () => {
  const bench = new Bench({ latch: "land" }, up, LAND, 1.1);
  const told = bench.ticks(1_000, Mode.FaultLatched);
  expect(told.map(([kind]) => kind)).toEqual([Brake, Land, Brake, ZeroTorque]);
  // 0.98 rad at 0.5 rad/s, and the ramps of its speed.
  expect(told[1]![1]).toBeGreaterThanOrEqual(392);
  expect(told[1]![1]).toBeLessThan(392 + 20);
  expect(bench.positionRad).toBeLessThan(0.12);
  expect(bench.positionRad).toBeGreaterThan(0.09);
});

test("one that stands within 20 mrad of the ground has landed", () => {
  const far = new Bench({ latch: "land" }, up, LAND, 0.1 + 0.0201);
  expect(far.ticks(2, Mode.FaultLatched)).toEqual([
    [Brake, 1],
    [Land, 1],
  ]);
  const near = new Bench({ latch: "land" }, up, { land: { ...LAND.land!, groundRad: 0 } }, 0.02);
  expect(near.ticks(2, Mode.FaultLatched)).toEqual([
    [Brake, 1],
    [ZeroTorque, 1],
  ]);
});

test("blind, it goes on down for a quarter longer than the way should take", () => {
  const bench = new Bench({ latch: "land" }, up, LAND, 1.1);
  const told = bench.ticks(800, Mode.FaultLatched, false);
  // 1 rad at 2.5 mrad a tick are 400; in the last of 500 it lets go.
  expect(told.slice(0, 2)).toEqual([
    [Brake, 1],
    [Land, 499],
  ]);
  expect(told.at(-1)![0]).toBe(ZeroTorque);
  // What was seen last counts: at half the height half the time is left.
  const other = new Bench({ latch: "land" }, up, LAND, 1.1);
  other.ticks(100, Mode.FaultLatched);
  const leftRad = other.positionRad + 0.5 * DT - 0.1;
  expect(other.ticks(600, Mode.FaultLatched, false)[0]![1]).toBeWithin(
    Math.floor((1.25 * leftRad) / (0.5 * DT)) - 1,
    Math.ceil((1.25 * leftRad) / (0.5 * DT)) + 1,
  );
  const below = new Bench({ latch: "land" }, up, LAND, 0);
  expect(below.ticks(2, Mode.FaultLatched, false)[1]![0]).toBe(ZeroTorque);
});

test("what lands beside a joint of its own holds that where it came to rest", () => {
  const safeActions: Actions = { ...hold, latch: "land" };
  const joints = [testJoint({ ...up }), testJoint({ name: "leg" })];
  const profile = testProfile(joints, { safeActions, ...LAND });
  const limits = new JointLimits(profile);
  const limiter = new MotionLimiter(limits, new ToolGuard(profile, limits));
  const action = new SafeAction(profile, limits);
  const state = testState(profile, [1.1, 0.3]);
  limiter.seed(radVec(Float64Array.of(1.1, 0.3)));
  for (let tick = 0; tick < 100; tick += 1) action.step(limiter, state, Mode.FaultLatched, true);
  expect([...limiter.command]).toEqual([-0.5, 0.3]);
});

test("it goes home and stays there with its torque on; blind it holds where it is", () => {
  const bench = new Bench({ stop: "return_home" }, { homeRad: 0.5 });
  bench.ticks(30, Mode.SafeStop);
  const [blind] = bench.ticks(30, Mode.SafeStop, false);
  expect([blind, bench.limiter.atRest]).toEqual([[Hold, 30], true]);
  const stood = bench.positionRad;
  expect(stood).toBeLessThan(0.5);
  expect(bench.ticks(200, Mode.SafeStop)).toEqual([[ReturnHome, 200]]);
  expect([bench.positionRad, bench.action.stays, bench.action.released]).toEqual([
    0.5,
    false,
    false,
  ]);
});

test("a wheel has no pose: it stands while the rest goes home or sits", () => {
  const wheel: Partial<JointProfile> = { command: "velocity", homeRad: 1, restRad: 1 };
  const home = new Bench({ stop: "return_home" }, wheel);
  home.ticks(50, Mode.SafeStop);
  expect([home.limiter.atRest, home.limiter.command[0]]).toEqual([true, 0]);
  const sits = new Bench({ latch: "sit" }, wheel, SIT);
  sits.ticks(50, Mode.FaultLatched);
  expect([sits.limiter.atRest, sits.limiter.command[0]]).toEqual([true, 0]);
});

const FALLS: Partial<RobotProfile> = { powerCut: "falls", parkNs: milliseconds(2_000) };

test("a robot is parked only in a stopped mode, and says when it is on its way", () => {
  for (const mode of [Mode.SafeStop, Mode.FaultLatched]) {
    const bench = new Bench({}, { restRad: 0.5 }, FALLS);
    bench.action.parking.begin();
    expect([bench.tick(mode), bench.action.parks]).toEqual([Brake, false]);
    expect([bench.tick(mode), bench.action.parks, bench.action.stays]).toEqual([Park, true, false]);
    const told = bench.ticks(300, mode);
    expect(told.map(([kind]) => kind)).toEqual([Park, ZeroTorque]);
    expect([bench.positionRad, bench.action.parks, bench.action.released]).toEqual([
      0.5,
      false,
      true,
    ]);
  }
  for (const mode of [Mode.Starting, Mode.Running, Mode.Degraded, Mode.Recover]) {
    const bench = new Bench({}, { restRad: 0.5 }, FALLS);
    bench.action.parking.begin();
    expect([bench.tick(mode), bench.action.parking.isOn]).toEqual([Hold, false]);
  }
});

test("parking counts from the cue on, its first brake included, and a start ends it", () => {
  const bench = new Bench({}, { restRad: 0.5 }, { ...FALLS, parkNs: milliseconds(300) }, -1);
  bench.move(60, 2);
  bench.action.parking.begin();
  const told = bench.ticks(100, Mode.SafeStop);
  // 60 ticks, less the 24 of a stop from full speed, in which it brakes and lets go.
  const last = told.pop()!;
  expect(last[0]).toBe(ZeroTorque);
  expect(100 - last[1]).toBeLessThanOrEqual(60);
  const other = new Bench({}, { restRad: 0.5 }, FALLS);
  other.action.parking.begin();
  other.action.forget();
  expect([other.action.parking.isOn, other.tick(Mode.SafeStop)]).toEqual([false, Hold]);
});

test.each([
  [{ degraded: "sit" as "hold" }, {}, "a robot that may move on only waits"],
  [{ stop: "sit" as const }, {}, "a robot that sits says how long it takes"],
  [{ latch: "sit" as const }, {}, "a robot that sits says how long it takes"],
  [{ stop: "land" as const }, {}, "a robot that lands says how"],
  [{ latch: "land" as const }, {}, "a robot that lands says how"],
  [{}, { land: { ...LAND.land!, joint: "down" } }, "the joint that comes down is one"],
])("a profile that does not say how is our own mistake: %o", (actions, more, message) => {
  expect(() => new Bench(actions, up, more)).toThrow(message);
});
