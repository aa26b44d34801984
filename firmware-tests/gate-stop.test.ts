// From each of 10^6 states that hostile targets reach, in motion, the product's own brake ends at
// rest inside the position limits and within the limits of a stop. A first limiter is driven; a
// second is put where the first is, and brakes; the oracle sees commands only. Each arm begins
// inside its limits: from outside, the storm of the gate asks for the way back.
//
// A failure names its seed. Reproduce it with `SEED=42 bun test gate-stop`.

import { expect, test } from "bun:test";
import { ActionSample } from "../runtime/contracts/action-sample.ts";
import type { JointProfile } from "../runtime/contracts/profile.ts";
import { SeededRandom } from "../runtime/contracts/seeded-random.ts";
import { radPerSVec, radVec } from "../runtime/contracts/units.ts";
import { testProfile } from "../safety/fixture.ts";
import { JointLimits } from "../safety/limits.ts";
import { MotionLimiter } from "../safety/motion-limiter.ts";
import { ToolGuard } from "../safety/tool-guard.ts";
import { noteFigure } from "./figures.ts";
import { DT, HostilePolicy, drawArm } from "./gate-hostile.ts";
import { StopOracle } from "./gate-stop-oracle.ts";

/** 10^6 together, in CI too. */
const SEED_COUNT = 20;
const ARMS = 10;
const STATES = 5_000;
const TRIES = ARMS * STATES;
/** A stop that ends so near a limit had no more way than there was. */
const NEAR_RAD = 1e-4;
const seeds =
  Bun.env["SEED"] === undefined
    ? Array.from({ length: SEED_COUNT }, (_, index) => index + 1)
    : [Number(Bun.env["SEED"])];

function limiterOf(arm: readonly JointProfile[]): MotionLimiter {
  const profile = testProfile(arm, { toolParent: "base" });
  const limits = new JointLimits(profile);
  return new MotionLimiter(limits, new ToolGuard(profile, limits));
}

/** A limiter under hostile targets, with a robot that lags, jams and is pushed, and its gaps. */
class Driven {
  readonly limiter: MotionLimiter;
  /** The last three commands of each joint, the newest last. */
  readonly commands: readonly Float64Array[];
  readonly #random: SeededRandom;
  readonly #policy: HostilePolicy;
  readonly #action: ActionSample;
  readonly #measuredRad;
  readonly #measuredRadPerS;
  #tick = 0;
  #gapTicks = 0;
  #coasts = false;

  constructor(random: SeededRandom, arm: readonly JointProfile[]) {
    this.#random = random;
    this.#policy = new HostilePolicy(random, arm);
    this.#action = new ActionSample(arm.length);
    this.#measuredRad = radVec(new Float64Array(arm.length));
    this.#measuredRadPerS = radPerSVec(new Float64Array(arm.length));
    this.limiter = limiterOf(arm);
    this.limiter.seed(this.#measuredRad);
    this.commands = arm.map(() => new Float64Array(3));
  }

  step(): void {
    this.#tick += 1;
    this.#policy.next(this.#action);
    if (this.#gapTicks <= 0 && this.#random.next() < 0.005) {
      this.#gapTicks = this.#random.next() * 40;
      this.#coasts = this.#random.next() < 0.5;
    }
    this.#gapTicks -= 1;
    // What is no number the gate refuses, and brakes.
    const isOk = this.#action.values.every(Number.isFinite);
    if (isOk && this.#gapTicks <= 0) {
      this.limiter.follow(this.#action.values, this.#measuredRad, this.#measuredRadPerS);
    } else if (isOk && this.#coasts) {
      this.limiter.coast(this.#measuredRad);
    } else {
      this.limiter.brake();
    }
    this.#moveRobot();
    for (const [joint, last] of this.commands.entries()) {
      last.copyWithin(0, 1);
      last[2] = this.limiter.command[joint]!;
    }
  }

  #moveRobot(): void {
    const jammed = this.#tick % 2_000 > 1_900;
    for (let joint = 0; joint < this.commands.length; joint += 1) {
      const before = this.#measuredRad[joint]!;
      const speed = jammed ? 0 : (this.limiter.command[joint]! - before) / 0.03;
      this.#measuredRad[joint] = before + speed * DT;
      this.#measuredRadPerS[joint] = speed;
      if (this.#random.next() < 1e-3) this.#measuredRad[joint]! += this.#random.next() - 0.5;
    }
  }
}

/** A second limiter that stops from wherever the first is. */
class Stop {
  readonly #limiter: MotionLimiter;
  readonly #oracles: readonly StopOracle[];

  constructor(arm: readonly JointProfile[]) {
    this.#limiter = limiterOf(arm);
    this.#oracles = arm.map((joint) => new StopOracle(joint, DT));
  }

  /** False where nothing moves. */
  begin(driven: Driven): boolean {
    const { commands, limiter } = driven;
    let moves = false;
    for (let joint = 0; joint < commands.length; joint += 1) {
      const last = commands[joint]!;
      const oracle = this.#oracles[joint]!;
      oracle.begin(last[0]!, last[1]!, last[2]!);
      moves ||= oracle.moves;
    }
    this.#limiter.command.set(limiter.command);
    this.#limiter.strideRad.set(limiter.strideRad);
    this.#limiter.changeRad.set(limiter.changeRad);
    return moves;
  }

  /** Ticks to rest; the oracles throw where it is none. */
  run(): number {
    const oracles = this.#oracles;
    for (let rests = false; !rests; ) {
      this.#limiter.brake();
      rests = true;
      for (let joint = 0; joint < oracles.length; joint += 1) {
        const oracle = oracles[joint]!;
        oracle.see(this.#limiter.command[joint]!);
        rests &&= oracle.rests;
      }
    }
    if (!this.#limiter.atRest) throw new Error("at rest, and something is left of the stop");
    return oracles[0]!.tickCount;
  }

  get nearCount(): number {
    return this.#oracles.filter(({ roomRad }) => roomRad < NEAR_RAD).length;
  }
}

function stopFromEverywhere(seed: number) {
  const random = new SeededRandom(seed);
  const found = { ticksMax: 0, nearCount: 0 };
  for (let count = 0; count < ARMS; count += 1) {
    const arm = drawArm(random);
    const driven = new Driven(random, arm);
    const stop = new Stop(arm);
    for (let states = 0; states < STATES; ) {
      driven.step();
      if (!stop.begin(driven)) continue;
      states += 1;
      found.ticksMax = Math.max(found.ticksMax, stop.run());
      found.nearCount += stop.nearCount;
    }
  }
  return found;
}

test.each(seeds)(
  "seed %d: from wherever it moves, a stop ends inside the position limits, at rest",
  (seed) => {
    const { nearCount, ticksMax } = stopFromEverywhere(seed);
    // Walls were what ended many of them, and some were long.
    expect(nearCount).toBeGreaterThan(TRIES / 50);
    expect(ticksMax).toBeGreaterThan(50);
    noteFigure({
      part: "stop profile",
      case: `seed ${seed}`,
      measured: `0 violations; ${nearCount} end at a limit, ${ticksMax} ticks at most`,
      limit: "position, velocity, stop acceleration, stop jerk, rest: 0",
      tries: `${TRIES} states of 3 joints in motion`,
    });
  },
  3_600_000,
);
