// Swing: what `sine` is for a robot with joints that take velocities: each of them goes a little
// forth and back at a share of its speed, beginning from rest. A position joint among them stays
// where it is. Wherever the robot was held back, the swing begins anew from rest.

import { jointSchema } from "../contracts/action.ts";
import type { ChunkView } from "../contracts/action.ts";
import { SequenceAllocator } from "../contracts/policy.ts";
import type { Policy } from "../contracts/policy.ts";
import type { JointProfile } from "../contracts/profile.ts";
import type { StateView } from "../contracts/state.ts";
import { sin } from "../contracts/trig.ts";
import { NS_PER_S } from "../contracts/units.ts";
import type { Instant } from "../contracts/units.ts";
import type { PolicyContext } from "./context.ts";
import { minimumJerk } from "./minimum-jerk.ts";
import { DEPARTURE_SHARE, PlanWriter } from "./plan-writer.ts";
import type { Plan } from "./plan-writer.ts";

/** 12 cm/s of the wheeled base, 0.5 m/s of the multirotor: seen with the naked eye. */
const SPEED_SHARE = 0.1;
const PERIOD_S = 4;
const TURN_RAD = 2 * Math.PI;

export class SwingPolicy implements Policy, Plan {
  readonly name = "sine";
  readonly schema: Policy["schema"];
  readonly selectsMode = false;
  readonly #writer: PlanWriter;
  readonly #joints: readonly JointProfile[];
  readonly #speed: Float64Array;
  readonly #planned: Float64Array;
  #allocator = new SequenceAllocator(0);
  #startNs = -1;

  constructor(context: PolicyContext) {
    const { joints } = context.robot;
    const names = joints.map((joint) => joint.name);
    this.schema = jointSchema("joint_vel", names);
    this.#writer = new PlanWriter(context, this.schema);
    this.#joints = joints;
    this.#speed = Float64Array.from(joints, ({ command, velocityRadPerSMax }) =>
      command === "velocity" ? SPEED_SHARE * velocityRadPerSMax : 0,
    );
    this.#planned = new Float64Array(joints.length);
  }

  reset(_epoch: number, allocator: SequenceAllocator): void {
    this.#allocator = allocator;
    this.#writer.reset();
    this.#startNs = -1;
  }

  act(state: StateView, nowNs: Instant): ChunkView {
    if (this.#startNs < 0 || this.#hasDeparted(state)) this.#startNs = state.stampNs;
    return this.#writer.write(state, this, this.#allocator, nowNs);
  }

  /** Velocities, rad/s. */
  sampleInto(out: Float64Array, atNs: number): void {
    const periods = Math.max(0, atNs - this.#startNs) / NS_PER_S / PERIOD_S;
    const share = minimumJerk(periods) * sin(TURN_RAD * (periods % 1));
    for (let joint = 0; joint < out.length; joint += 1) out[joint] = this.#speed[joint]! * share;
  }

  /** A velocity joint was not commanded as planned: the gate had it brake. */
  #hasDeparted(state: StateView): boolean {
    this.sampleInto(this.#planned, state.stampNs);
    return this.#joints.some((joint, index) => {
      const off = Math.abs(this.#planned[index]! - state.command[index]!);
      // Negated, so that NaN counts as departed.
      return joint.command === "velocity" && !(off <= DEPARTURE_SHARE * joint.startMismatchRadMax);
    });
  }
}
