// StormPolicyPort: a policy out of a nightmare, in the robot's own command space. Most decisions
// are a smooth sine; the rest jump, lie, come late, start in the future or hold what is no number.
// It judges nothing, so that all judging is the core's.
//
// Equal seeds and equal states give equal decisions.

import { ChunkSlot, ChunkView, jointSchema, schemaFingerprint } from "../contracts/action.ts";
import { anchorChunk } from "../contracts/anchoring.ts";
import type { PolicyPort } from "../contracts/policy.ts";
import type { RobotProfile } from "../contracts/profile.ts";
import type { SeededRandom } from "../contracts/seeded-random.ts";
import type { StateView } from "../contracts/state.ts";
import { sin } from "../contracts/trig.ts";
import { instant } from "../contracts/units.ts";
import type { Instant } from "../contracts/units.ts";

/** What a decision can be. A run turns some of them off entirely. */
export const stormMoods = ["sine", "jumpy", "nan", "silent", "liar", "future", "twice"] as const;
export type StormMood = (typeof stormMoods)[number];

/** Share of the decisions that are sane, so that the robot does move. */
const SINE_RATIO = 0.75;
const TICKS_PER_ACT = 10;
/** Amplitude and angular rate of the sine: inside the limits of any arm. */
const AMPLITUDE_RAD = 0.4;
const RATE_RAD_PER_S = 2.5;

/** Header slots that a liar may change, and to what. */
const lies: readonly (readonly [keyof typeof ChunkSlot, readonly number[]])[] = [
  ["epoch", [-1, 0, 999, Number.NaN]],
  ["seq", [-1, 0, Number.NaN, Infinity]],
  ["schemaFingerprint", [0, 1]],
  ["schemaVersion", [0, 2]],
  ["width", [0, 1, 99]],
  ["horizon", [0, -3, 2.5, 65, Number.NaN]],
  ["dtNs", [0, -1, Number.NaN]],
  ["stateStampNs", [1e18, Number.NaN]],
  ["validUntilNs", [0, Infinity]],
  ["validFromNs", [-Infinity, Number.NaN]],
];

export class StormPolicyPort implements PolicyPort {
  readonly chunk = new ChunkView();
  /** Decisions made, by mood. */
  readonly counts: Record<StormMood, number> = {
    sine: 0,
    jumpy: 0,
    nan: 0,
    silent: 0,
    liar: 0,
    future: 0,
    twice: 0,
  };
  readonly #decidedTicks = new Map<string, number>();
  readonly #profile: RobotProfile;
  readonly #fingerprint: number;
  readonly #random: SeededRandom;
  readonly #moods: readonly StormMood[];
  readonly #commandRad: Float64Array;
  readonly #centreRad: Float64Array;
  #stampNs = 0;
  #epoch = 0;
  #seq = 0;
  #tick = -1;
  #askedNs = -1;
  #repeat = false;
  #centred = false;

  constructor(profile: RobotProfile, random: SeededRandom, moods: readonly StormMood[]) {
    const names = profile.joints.map((joint) => joint.name);
    this.#profile = profile;
    this.#fingerprint = schemaFingerprint(jointSchema("joint_pos", names));
    this.#random = random;
    this.#moods = moods;
    this.#commandRad = new Float64Array(names.length);
    this.#centreRad = new Float64Array(names.length);
  }

  get fingerprint(): number {
    return this.#fingerprint;
  }

  /** The tick in which a decision was made; -1 for one that never was. */
  decidedTick(epoch: number, seq: number): number {
    return this.#decidedTicks.get(`${epoch} ${seq}`) ?? -1;
  }

  takeChunk(nowNs: Instant): boolean {
    if (this.#repeat) {
      this.#repeat = false; // the same decision again, as a confused link delivers it
      return true;
    }
    if (nowNs === this.#askedNs) return false;
    this.#askedNs = nowNs;
    this.#tick += 1;
    if (this.#tick % TICKS_PER_ACT !== 0) return false;
    return this.#decide(nowNs);
  }

  publish(state: StateView): void {
    this.#commandRad.set(state.command);
    this.#stampNs = state.stampNs;
  }

  beginEpoch(epoch: number): void {
    this.#epoch = epoch;
    this.#seq = 0;
    this.#centred = false;
  }

  #decide(nowNs: Instant): boolean {
    const mood = this.#mood();
    this.counts[mood] += 1;
    if (mood === "silent") return false;
    const random = this.#random;
    const { chunk } = this;
    const { horizon, dtNs, anchoring = "arrival" } = this.#profile.policy;
    this.#seq += 1;
    this.#decidedTicks.set(`${this.#epoch} ${this.#seq}`, this.#tick);
    chunk.begin(this.#epoch, this.#seq, horizon, this.#commandRad.length, dtNs);
    chunk.record[ChunkSlot.schemaFingerprint] = this.#fingerprint;
    chunk.record[ChunkSlot.stateStampNs] = this.#stampNs;
    if (mood === "future") {
      const fromNs = nowNs + Math.floor(random.next() * 8) * this.#profile.periodNs;
      chunk.setWindow(instant(fromNs), instant(fromNs + horizon * dtNs));
    }
    anchorChunk(chunk, nowNs, anchoring);
    if (mood === "jumpy") this.#jump();
    else this.#follow();
    if (mood === "nan") {
      const values = [Number.NaN, Infinity, -Infinity];
      chunk.values[this.#whole(horizon * this.#commandRad.length)] = values[this.#whole(3)]!;
    }
    if (mood === "liar") {
      const [slot, wrong] = lies[this.#whole(lies.length)]!;
      chunk.record[ChunkSlot[slot]] = wrong[this.#whole(wrong.length)]!;
    }
    this.#repeat = mood === "twice";
    return true;
  }

  #mood(): StormMood {
    if (this.#random.next() < SINE_RATIO) return "sine";
    return this.#moods[this.#whole(this.#moods.length)]!;
  }

  #whole(below: number): number {
    return Math.floor(this.#random.next() * below);
  }

  /** Every row somewhere in twice the joint's range. */
  #jump(): void {
    const { joints } = this.#profile;
    for (let index = 0; index < this.chunk.horizon * joints.length; index += 1) {
      const { positionRadMin, positionRadMax } = joints[index % joints.length]!;
      const spanRad = positionRadMax - positionRadMin;
      this.chunk.values[index] = positionRadMin - spanRad / 2 + 2 * spanRad * this.#random.next();
    }
  }

  /** A sine around where the episode began, reached from where the command is. */
  #follow(): void {
    const count = this.#commandRad.length;
    if (!this.#centred) this.#centreRad.set(this.#commandRad);
    this.#centred = true;
    const { dtNs, horizon, validFromNs } = this.chunk;
    for (let row = 0; row < horizon; row += 1) {
      const timeS = (validFromNs + row * dtNs) / 1e9;
      const swingRad = AMPLITUDE_RAD * sin(RATE_RAD_PER_S * timeS);
      const fade = Math.min(1, row / 4);
      for (let joint = 0; joint < count; joint += 1) {
        const wantedRad = this.#centreRad[joint]! + swingRad;
        const fromRad = this.#commandRad[joint]!;
        this.chunk.values[row * count + joint] = fromRad + (wantedRad - fromRad) * fade;
      }
    }
  }
}
