// A thousand seams, ten thousand in long runs, between chunks that do not agree, up to 0.1 rad a
// joint, through the real buffer and gate in virtual time: what is commanded keeps the limits of
// motion at a seam as elsewhere and is back on the plan soon. Differences of the commands, and an
// oracle of the limits that owes the gate nothing.

import { expect, test } from "bun:test";
import { KinematicRobot } from "../hal/kinematic-robot.ts";
import { ChunkSlot, ChunkView, jointSchema } from "../runtime/contracts/action.ts";
import { CommandKind } from "../runtime/contracts/command.ts";
import type { CommandView } from "../runtime/contracts/command.ts";
import { OperatorCue } from "../runtime/contracts/mode.ts";
import { SeededRandom } from "../runtime/contracts/seeded-random.ts";
import { StateLayout } from "../runtime/contracts/state.ts";
import { sin } from "../runtime/contracts/trig.ts";
import { duration, instant, milliseconds } from "../runtime/contracts/units.ts";
import { ControlCore } from "../runtime/core/core.ts";
import { controlTick } from "../runtime/core/tick.ts";
import { commandFingerprint } from "../runtime/policy/adapter.ts";
import { EnsemblePolicy } from "../runtime/policy/ensemble.ts";
import { loadRobot } from "../runtime/profile/load.ts";
import { isLong, noteFigure } from "./figures.ts";
import { JointOracle } from "./gate-oracle.ts";

const so101 = loadRobot("so101");
const { periodNs } = so101;
const PERIOD_S = periodNs / 1e9;
const FINGERPRINT = commandFingerprint(so101);
const SEAM_COUNT = isLong ? 10_000 : 1_000;
/** A seam every 600 ms. */
const SEAM_TICKS = 120;
const JUMP_RAD_MAX = 0.1;
const REJOIN_MS_MAX = 300;
const REJOIN_TICKS = REJOIN_MS_MAX / 5;
/** Rows are straight lines, and the gate rounds their corners: as near as this is on the plan. */
const ON_PLAN_RAD = 5e-3;
/** Joints with room on both sides of their home. */
const MOVING = [0, 2, 4];

type Case = {
  /** Of the quick swing: 2.2 or 5.5 rad/s2 of the 15 that motion may have, over 2.5 of the slow. */
  readonly quickRad: number;
  readonly blendMs: number;
  /** Between two chunks; all but one of those between two seams agree. */
  readonly chunkMs: 50 | 200;
  /** Absent: rows are not averaged. */
  readonly ensembleMs?: number;
  /** Seams that may take longer than what is asked for, and what the worst may take. */
  readonly brief: Late;
  readonly long: Late;
};
/** Of 3,000 seams, and of 30,000. */
type Late = { readonly countMax: number; readonly worstMsMax: number };
const cases: readonly Case[] = [
  {
    quickRad: 0.02,
    blendMs: 0,
    chunkMs: 50,
    brief: { countMax: 0, worstMsMax: 240 },
    long: { countMax: 0, worstMsMax: 250 },
  },
  {
    quickRad: 0.02,
    blendMs: 0,
    chunkMs: 200,
    brief: { countMax: 0, worstMsMax: 240 },
    long: { countMax: 0, worstMsMax: 240 },
  },
  {
    quickRad: 0.05,
    blendMs: 0,
    chunkMs: 200,
    brief: { countMax: 20, worstMsMax: 400 },
    long: { countMax: 230, worstMsMax: 400 },
  },
  // Fading moves the goal, and the gate takes that for the speed of what it follows.
  {
    quickRad: 0.02,
    blendMs: 100,
    chunkMs: 200,
    brief: { countMax: 850, worstMsMax: 540 },
    long: { countMax: 8200, worstMsMax: 560 },
  },
  {
    quickRad: 0.02,
    blendMs: 0,
    chunkMs: 50,
    ensembleMs: 100,
    brief: { countMax: 0, worstMsMax: 270 },
    long: { countMax: 0, worstMsMax: 275 },
  },
];

/** A slow swing and a quick one, and where the seams have put their middle. */
class Plan {
  readonly middleRad = Float64Array.from(so101.joints, ({ homeRad }) => homeRad);
  readonly #quickRad: number;
  readonly #random = new SeededRandom(12);

  constructor(quickRad: number) {
    this.#quickRad = quickRad;
  }

  at(joint: number, timeS: number): number {
    const middleRad = this.middleRad[joint]!;
    if (!MOVING.includes(joint)) return middleRad;
    const slow = 0.25 * sin(Math.PI * timeS + joint);
    return middleRad + slow + this.#quickRad * sin(10.5 * timeS + 2 * joint);
  }

  jump(): void {
    for (const joint of MOVING) {
      const off = this.middleRad[joint]! - so101.joints[joint]!.homeRad;
      const byRad = JUMP_RAD_MAX * this.#random.next();
      this.middleRad[joint]! += off > 0 ? -byRad : byRad;
    }
  }
}

class Seams {
  readonly plan: Plan;
  /** Off the plan, and the differences of the commands, by tick since the last seam. */
  readonly offRad = Array.from({ length: SEAM_TICKS }, (): number[] => []);
  readonly jerk = Array.from({ length: SEAM_TICKS }, (): number[] => []);
  accelerationMost = 0;
  readonly #core: ControlCore;
  readonly #body: KinematicRobot;
  readonly #oracles: JointOracle[];
  readonly #last: [number, number, number][];
  #seq = 0;
  #tick = 0;
  #decidedTick = -1;

  readonly #ensemble: EnsemblePolicy | undefined;
  readonly #chunk = new ChunkView();

  readonly #chunkTicks: number;

  constructor({ quickRad, blendMs, chunkMs, ensembleMs }: Case) {
    this.#chunkTicks = chunkMs / 5;
    this.plan = new Plan(quickRad);
    if (ensembleMs !== undefined) {
      const names = so101.joints.map((joint) => joint.name);
      this.#ensemble = new EnsemblePolicy(
        {
          name: "plan",
          schema: jointSchema("joint_pos", names),
          selectsMode: false,
          reset: () => undefined,
          act: () => this.#chunk,
        },
        { ensembleNs: milliseconds(ensembleMs), interpolation: so101.policy.interpolation },
      );
    }
    const policy = { ...so101.policy, blendNs: milliseconds(blendMs) };
    const supervisor = { ...so101.supervisor, startsIn: "Running" as const };
    const robot = { ...so101, policy, supervisor };
    this.#body = new KinematicRobot(robot, robot.sources, {
      ageNs: milliseconds(2),
      lagNs: duration(0),
    });
    this.#oracles = so101.joints.map((joint) => new JointOracle(joint, PERIOD_S, joint.homeRad));
    this.#last = so101.joints.map(({ homeRad }) => [homeRad, 0, 0]);
    this.#core = new ControlCore({
      profile: robot,
      layout: new StateLayout(robot, robot.sources, ""),
      schemaFingerprint: FINGERPRINT,
      sensor: this.#body,
      actuator: { send: (command) => this.#send(command) },
      policy: {
        chunk: new ChunkView(),
        takeChunk: (nowNs) => this.#decide(nowNs),
        publish: () => undefined,
        beginEpoch: () => (this.#seq = 0),
      },
      cues: { takeCue: () => OperatorCue.None },
      alive: { check: () => 0 },
      ticks: { write: () => undefined },
      evidence: { note: () => undefined },
      deadlineIsFault: false,
    });
    this.#body.activate(instant(0));
    this.#core.prime(instant(0));
  }

  run(): this {
    const endTick = SEAM_COUNT * SEAM_TICKS + SEAM_TICKS;
    for (this.#tick = 1; this.#tick < endTick; this.#tick += 1) {
      controlTick(this.#core, instant(this.#tick * periodNs));
    }
    return this;
  }

  #decide(nowNs: number): boolean {
    const chunk = this.#chunk;
    if (this.#tick % this.#chunkTicks !== 0 || this.#decidedTick === this.#tick) return false;
    this.#decidedTick = this.#tick;
    if (this.#tick % SEAM_TICKS === 0) this.plan.jump();
    const { horizon, dtNs } = so101.policy;
    const width = so101.joints.length;
    this.#seq += 1;
    chunk.begin(this.#core.epoch, this.#seq, horizon, width, dtNs);
    chunk.record[ChunkSlot.schemaFingerprint] = FINGERPRINT;
    chunk.record[ChunkSlot.stateStampNs] = nowNs;
    chunk.setWindow(instant(nowNs), instant(nowNs + horizon * dtNs));
    for (let row = 0; row < horizon; row += 1) {
      for (let joint = 0; joint < width; joint += 1) {
        chunk.values[row * width + joint] = this.plan.at(joint, (nowNs + row * dtNs) / 1e9);
      }
    }
    const mean = this.#ensemble?.act(this.#core.state, instant(nowNs)) ?? chunk;
    this.#core.policy.chunk.copyFrom(mean as ChunkView);
    return true;
  }

  #send(command: CommandView): void {
    const moves = command.kind === CommandKind.Motion;
    const { positionRad, velocityRadPerS } = this.#body;
    if (command.kind === CommandKind.None) return;
    const sinceSeam = this.#tick % SEAM_TICKS;
    const isCounted = moves && this.#tick >= SEAM_TICKS;
    for (const [joint, oracle] of this.#oracles.entries()) {
      const value = command.values[joint]!;
      oracle.see(value, positionRad[joint]!, velocityRadPerS[joint]!, moves);
      const [last, lastVelocity, lastAcceleration] = this.#last[joint]!;
      const velocity = (value - last) / PERIOD_S;
      const acceleration = (velocity - lastVelocity) / PERIOD_S;
      const jerk = (acceleration - lastAcceleration) / PERIOD_S;
      this.#last[joint] = [value, velocity, acceleration];
      if (!isCounted || !MOVING.includes(joint)) continue;
      this.accelerationMost = Math.max(this.accelerationMost, Math.abs(acceleration));
      this.jerk[sinceSeam]!.push(Math.abs(jerk));
      const off = value - this.plan.at(joint, (this.#tick * periodNs) / 1e9);
      this.offRad[sinceSeam]!.push(Math.abs(off));
    }
    this.#body.send(command);
  }

  /** The greatest jerk in these ticks after a seam. */
  peakJerk(from: number, until: number): number {
    return Math.max(...this.jerk.slice(from, until).map((values) => Math.max(...values)));
  }

  /** How long after each seam the command was off the plan for the last time, worst first. */
  rejoinMs(): number[] {
    const count = this.offRad[0]!.length;
    const times = Array.from({ length: count }, (_, at) => {
      const last = this.offRad.findLastIndex((values) => values[at]! > ON_PLAN_RAD);
      return (last + 1) * 5;
    });
    return times.sort((a, b) => b - a);
  }
}

test.each(cases)("a thousand seams keep the limits of motion: %o", (each) => {
  const { quickRad, blendMs, chunkMs, ensembleMs } = each;
  const late = isLong ? each.long : each.brief;
  const means = ensembleMs === undefined ? "" : `, ensemble ${ensembleMs} ms`;
  const seams = new Seams(each).run();
  const { accelerationRadPerS2, jerkRadPerS3 } = so101.joints[0]!.motion;
  const boundary = seams.peakJerk(0, REJOIN_TICKS);
  const interior = seams.peakJerk(REJOIN_TICKS, SEAM_TICKS);
  const ratio = boundary / interior;
  const times = seams.rejoinMs();
  const [worstMs] = times;
  const lateCount = times.filter((ms) => ms > REJOIN_MS_MAX).length;
  const jerks = `jerk ${boundary.toFixed(0)} to ${interior.toFixed(0)} (${ratio.toFixed(2)})`;
  const median = times[times.length >> 1]!;
  const back = `back after ${median} ms, ${worstMs!} ms at worst, ${lateCount} late`;
  const notMet = lateCount === 0 ? "" : "; rejoin not met";
  noteFigure({
    part: "chunk seams",
    case: `0.1 rad, swing ${quickRad} rad, blend ${blendMs} ms, chunks ${chunkMs} ms apart${means}`,
    measured: `${seams.accelerationMost.toFixed(1)} rad/s2, ${jerks}, ${back}`,
    limit: `${accelerationRadPerS2} rad/s2, ${jerkRadPerS3} rad/s3, 1.2, ${REJOIN_MS_MAX} ms`,
    tries: `${SEAM_COUNT} seams, ${MOVING.length} joints${notMet}`,
  });
  expect(seams.accelerationMost).toBeLessThanOrEqual(accelerationRadPerS2 * (1 + 1e-6));
  expect(Math.max(boundary, interior)).toBeLessThanOrEqual(jerkRadPerS3 * (1 + 1e-6));
  expect(times.length).toBe(SEAM_COUNT * MOVING.length);
  expect(ratio).toBeLessThanOrEqual(1.2);
  expect(lateCount).toBeLessThanOrEqual(late.countMax);
  expect(worstMs!).toBeLessThanOrEqual(late.worstMsMax);
});
