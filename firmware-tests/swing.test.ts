// `sine` on the robots of velocity joints that ship, through the real runner, core and kinematic
// joints in virtual time: they move by themselves within their limits, and a person's stop has the
// base brake and the multirotor land from flight. What is said of a robot is read off its joints.

import { expect, test } from "bun:test";
import { KinematicRobot } from "../hal/kinematic-robot.ts";
import { RepairBit } from "../runtime/contracts/command.ts";
import { OperatorCue, modeNames } from "../runtime/contracts/mode.ts";
import { StateLayout } from "../runtime/contracts/state.ts";
import { TickSlot } from "../runtime/contracts/tick-record.ts";
import { duration, instant, milliseconds } from "../runtime/contracts/units.ts";
import { ControlCore } from "../runtime/core/core.ts";
import { EvidenceLog } from "../runtime/core/evidence-log.ts";
import { controlTick } from "../runtime/core/tick.ts";
import { ActionAdapter, commandFingerprint } from "../runtime/policy/adapter.ts";
import { policyContext } from "../runtime/policy/context.ts";
import { LockstepPolicyPort } from "../runtime/policy/lockstep-port.ts";
import { createPolicy } from "../runtime/policy/registry.ts";
import { PolicyRunner } from "../runtime/policy/runner.ts";
import { loadRobot, loadTask } from "../runtime/profile/load.ts";
import { ALL_ALIVE } from "../runtime/record/input-log.ts";

const PERIOD_S = 0.005;

/** A robot that ships, and the policy by its name. */
class Swinging {
  readonly body: KinematicRobot;
  readonly core: ControlCore;
  readonly cues: OperatorCue[] = [OperatorCue.Start];
  /** Repairs of any tick, and refusals. */
  repairs = 0;
  readonly refused = new Set<number>();
  #tick = 0;

  constructor(name: string) {
    const robot = loadRobot(name);
    const layout = new StateLayout(robot, robot.sources, "");
    const policy = createPolicy("sine", policyContext(robot, loadTask("none"), layout));
    const runner = new PolicyRunner({
      policy,
      adapter: new ActionAdapter(policy.schema, robot),
      layout,
      everyTicks: robot.controlHz / robot.policy.hz,
      requires: [],
      qualityRatioMin: robot.state.qualityRatioMin,
    });
    const ageNs = milliseconds(2);
    this.body = new KinematicRobot(robot, robot.sources, { ageNs, lagNs: duration(0) });
    this.core = new ControlCore({
      profile: robot,
      layout,
      schemaFingerprint: commandFingerprint(robot),
      sensor: this.body.sensor,
      actuator: this.body.actuator,
      policy: new LockstepPolicyPort(runner, "arrival"),
      cues: { takeCue: () => this.cues.shift() ?? OperatorCue.None },
      alive: ALL_ALIVE,
      ticks: { write: (record) => this.#see(record) },
      evidence: new EvidenceLog(),
      deadlineIsFault: false,
    });
    this.body.activate(instant(0));
    this.core.prime(instant(0));
  }

  get mode(): string {
    return modeNames[this.core.supervisor.mode];
  }
  get places(): number[] {
    return [...this.body.positionRad];
  }

  /** Each place of a joint over so long, tick by tick. */
  run(seconds: number, joint = 0): number[] {
    const places: number[] = [];
    for (let ticks = Math.round(seconds / PERIOD_S); ticks > 0; ticks -= 1) {
      this.#tick += 1;
      controlTick(this.core, instant(this.#tick * PERIOD_S * 1e9));
      places.push(this.body.positionRad[joint]!);
    }
    return places;
  }

  #see(record: Float64Array): void {
    this.repairs |= record[TickSlot.repairs]!;
    if (this.mode === "RUNNING") this.refused.add(record[TickSlot.reason]!);
  }
}

test("the base goes forth and back, as fast as asked, and no limit has to hold it", () => {
  const base = new Swinging("wheeled-base");
  const wheel = base.run(30);
  const speeds = wheel.slice(1).map((rad, at) => (rad - wheel[at]!) / PERIOD_S);
  // A tenth of 16 rad/s, both ways.
  expect(Math.max(...speeds)).toBeCloseTo(1.6, 2);
  expect(Math.min(...speeds)).toBeCloseTo(-1.6, 2);
  expect(base.places[1]).toBe(base.places[0]!); // straight on
  expect(base.repairs & ~RepairBit.Smoothed).toBe(0);
  expect(base.mode).toBe("RUNNING");
});

test("a stop has the base brake from its swing, and a person gets it going again", () => {
  const base = new Swinging("wheeled-base");
  base.run(5);
  base.cues.push(OperatorCue.Stop);
  const braking = base.run(1);
  expect(Math.abs(braking[1]! - braking[0]!)).toBeGreaterThan(0.005); // it was moving
  // 1.6 rad/s at 54 rad/s2 and 2,700 rad/s3: 0.03 s and a ramp of 0.02 s; then it stands.
  expect(new Set(braking.slice(14)).size).toBe(1);
  expect(base.mode).toBe("SAFE_STOP");
  base.cues.push(OperatorCue.Reset);
  expect(new Set(base.run(1)).size).toBe(1);
  base.cues.push(OperatorCue.Start);
  const again = base.run(4);
  expect(Math.max(...again) - Math.min(...again)).toBeGreaterThan(1);
});

test("the multirotor flies where it began, and lands from there when a person stops it", () => {
  const climb = 2;
  const rotor = new Swinging("multirotor");
  const heights = rotor.run(10, climb);
  expect(Math.min(...heights)).toBeGreaterThan(1.5);
  expect(Math.max(...heights)).toBeLessThan(2.5);
  expect(Math.max(...heights) - Math.min(...heights)).toBeGreaterThan(0.1);
  rotor.cues.push(OperatorCue.Stop);
  rotor.run(1);
  const [aboveM] = rotor.run(0.5, climb);
  const down = rotor.run(1, climb);
  expect(down.at(-1)! - down[0]!).toBeCloseTo(-0.5 * (1 - PERIOD_S), 6);
  expect(down[0]!).toBeLessThan(aboveM!);
  rotor.run(4);
  expect([Math.abs(rotor.places[climb]!) < 0.05, rotor.body.follower.isLimp]).toEqual([true, true]);
});
