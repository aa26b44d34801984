// PickPlacePolicy: the scripted expert of the pick_place task. It reads where the object lies from
// an observation field, never from a simulator, and drives the arm phase by phase: clear of the
// table, above the object, down, close, up, above the goal, down, open, up, home. A phase ends when
// its motion is over and the arm at rest; then the next one is chosen by what the state shows.
//
// An object that moved before the jaws closed, slipped out of them or missed the goal sends it back
// to the beginning. What it cannot reach it waits for, standing still.

import type { ChunkView } from "../contracts/action.ts";
import { SequenceAllocator } from "../contracts/policy.ts";
import type { Policy } from "../contracts/policy.ts";
import type { TaskObject } from "../contracts/profile.ts";
import type { StateView } from "../contracts/state.ts";
import { atan2 } from "../contracts/trig.ts";
import type { Instant } from "../contracts/units.ts";
import { ArmMotion } from "./arm-motion.ts";
import type { PolicyContext } from "./context.ts";
import { GraspSolver } from "./grasp-solver.ts";
import { PolicyError } from "./policy-error.ts";

export const pickPlacePhases = [
  "clear",
  "approach",
  "descend",
  "close",
  "lift",
  "carry",
  "lower",
  "open",
  "retreat",
  "home",
] as const;
export type PickPlacePhase = (typeof pickPlacePhases)[number];

// Straight up and down over this height: twice a hand-sized object, and within the arm's reach.
const LINE_M = 0.06;
const LINE_PIECE_COUNT = 8;
// The jaws close on what lies within this of where they came down for it.
const MOVED_M_MAX = 0.01;
// Let go a little above the table: pressing on it would tip the object when the jaws open.
const RELEASE_GAP_M = 0.003;
// A jaw stopped this far before its end holds something: 5 mm at 80 mm of finger.
const HELD_RAD_MIN = 0.06;
// Share of its range to which the jaw opens. An open jaw is past the middle.
const OPEN_SHARE = 0.55;
// Yaws at which a box offers two parallel faces.
const YAW_COUNT = 4;
const QUARTER_TURN_RAD = Math.PI / 2;

export class PickPlacePolicy implements Policy {
  readonly name = "pick_place";
  readonly schema: Policy["schema"];
  readonly selectsMode = false;
  readonly #context: PolicyContext;
  readonly #motion: ArmMotion;
  readonly #solver: GraspSolver;
  readonly #object: TaskObject;
  readonly #fieldName: string;
  readonly #homeRad: Float64Array;
  readonly #gripper: number;
  readonly #openRad: number;
  readonly #shutRad: number;
  readonly #graspRad: Float64Array;
  readonly #placeRad: Float64Array;
  readonly #tryRad: Float64Array;
  readonly #rows: readonly Float64Array[];
  readonly #point = new Float64Array(3);
  /** Where the object was when its grasp was planned, m in the base frame. */
  readonly #pickedM = new Float64Array(3);
  #rowCount = 0;
  #allocator = new SequenceAllocator(0);
  #phase: PickPlacePhase = "clear";
  #begun = false;

  /** Throws PolicyError when robot or task lack what it needs. */
  constructor(context: PolicyContext) {
    const { robot, task, layout } = context;
    this.#context = context;
    this.#gripper = robot.joints.findIndex((joint) => joint.name === robot.gripper);
    const jaw = robot.joints[this.#gripper];
    const object = task.objects[0];
    const source = layout.sources.find(
      ({ id, kind }) => kind === "localization" && task.requires.includes(id),
    );
    if (jaw === undefined) throw unfit("unfit_robot", "a robot with a gripper", robot.name);
    if (task.kind !== "pick_place" || object === undefined) {
      throw unfit("unfit_task", "a pick_place task with an object", task.name);
    }
    if (source === undefined) {
      throw unfit("unfit_task", "a localization source among those required", task.name);
    }
    this.#object = object;
    this.#fieldName = source.id;
    this.#motion = new ArmMotion(context);
    this.schema = this.#motion.schema;
    this.#solver = new GraspSolver(robot);
    this.#shutRad = jaw.positionRadMin;
    this.#openRad = jaw.positionRadMin + OPEN_SHARE * (jaw.positionRadMax - jaw.positionRadMin);
    const pose = () => new Float64Array(robot.joints.length);
    this.#homeRad = Float64Array.from(robot.joints, (joint) => joint.homeRad);
    this.#graspRad = pose();
    this.#placeRad = pose();
    this.#tryRad = pose();
    this.#rows = Array.from({ length: LINE_PIECE_COUNT }, pose);
    this.#graspRad.set(this.#homeRad);
    if (!this.#planPlace()) {
      throw unfit(
        "unfit_task",
        `a goal within reach of ${robot.name}`,
        `${task.goalM.join(", ")} m`,
      );
    }
  }

  /** What it is doing, for reports and tests. */
  get phase(): PickPlacePhase {
    return this.#phase;
  }

  reset(_epoch: number, allocator: SequenceAllocator): void {
    this.#allocator = allocator;
    this.#motion.reset();
    this.#begun = false;
  }

  act(state: StateView, nowNs: Instant): ChunkView {
    const motion = this.#motion;
    if (!this.#begun || motion.hasDeparted(state)) {
      motion.begin(state, nowNs);
      this.#begun = true;
      this.#enter("clear", state, nowNs);
    }
    motion.follow(state);
    if (motion.isSettled(state, nowNs)) {
      motion.noteDroop(state);
      const next = this.#next(state);
      if (next !== undefined) this.#enter(next, state, nowNs);
    }
    return motion.write(state, this.#allocator, nowNs);
  }

  /** The motion of the phase is over: what now? Undefined: wait, standing still. */
  #next(state: StateView): PickPlacePhase | undefined {
    switch (this.#phase) {
      case "clear":
        return this.#planPick(state) ? "approach" : undefined;
      case "approach":
        return this.#isStillThere(state) ? "descend" : "clear";
      case "descend":
        return this.#isStillThere(state) ? "close" : "clear";
      case "close":
        return this.#isHolding(state) ? "lift" : "clear";
      case "lift":
        return this.#isLifted(state) && this.#planPlace() ? "carry" : "clear";
      case "carry":
        return this.#isLifted(state) ? "lower" : "clear";
      case "lower":
        return "open";
      case "open":
        return "retreat";
      case "retreat":
        return this.#isPlaced(state) ? "home" : "clear";
      case "home":
        return this.#isPlaced(state) ? undefined : "clear";
      default:
        return this.#phase satisfies never;
    }
  }

  /** Sets the motion of a phase going. */
  #enter(phase: PickPlacePhase, state: StateView, nowNs: Instant): void {
    const motion = this.#motion;
    this.#phase = phase;
    const top = this.#rows[this.#rowCount - 1] ?? this.#graspRad;
    if (phase === "clear" || phase === "retreat") this.#clear(state, nowNs);
    else if (phase === "approach") motion.moveTo(top, nowNs, this.#openRad);
    else if (phase === "descend")
      motion.moveBack(this.#rows, this.#rowCount, this.#graspRad, nowNs);
    else if (phase === "close") motion.moveGripper(this.#shutRad, nowNs);
    else if (phase === "lift") motion.moveAlong(this.#rows, this.#rowCount, nowNs);
    else if (phase === "carry") motion.moveTo(top, nowNs);
    else if (phase === "lower") motion.moveBack(this.#rows, this.#rowCount, this.#placeRad, nowNs);
    else if (phase === "open") motion.moveGripper(this.#openRad, nowNs);
    else motion.moveTo(this.#homeRad, nowNs, this.#openRad);
  }

  /** Up until the fingers pass over everything on the table. */
  #clear(state: StateView, nowNs: Instant): void {
    const [, , heightM = 0] = this.#solver.borrowToolPose(state.positionRad);
    const missingM = this.#object.halfExtentsM[2] + LINE_M - heightM;
    const pieceCount = missingM > 0 ? LINE_PIECE_COUNT : 0;
    this.#tryRad.set(state.positionRad);
    this.#rowCount = this.#solver.lineUpInto(this.#rows, this.#tryRad, missingM, pieceCount);
    this.#motion.moveAlong(this.#rows, this.#rowCount, nowNs);
  }

  /** The grasp that turns the arm least from home, among the yaws at which the jaws fit. */
  #planPick(state: StateView): boolean {
    const pose = state.field(this.#fieldName)?.values;
    if (pose === undefined) return false;
    for (let axis = 0; axis < 3; axis += 1) this.#pickedM[axis] = pose[axis]!;
    const yawRad = levelYawRad(pose);
    let leastRad = Number.POSITIVE_INFINITY;
    for (let index = 0; index < YAW_COUNT; index += 1) {
      this.#tryRad.set(this.#homeRad);
      const turnedRad = yawRad + index * QUARTER_TURN_RAD;
      if (!this.#solver.reachInto(this.#tryRad, this.#pickedM, turnedRad)) continue;
      const costRad = this.#largestTurnRad(this.#tryRad);
      if (costRad >= leastRad) continue;
      leastRad = costRad;
      this.#graspRad.set(this.#tryRad);
    }
    if (leastRad === Number.POSITIVE_INFINITY) return false;
    this.#rowCount = this.#lineFrom(this.#graspRad);
    return true;
  }

  #planPlace(): boolean {
    const [x, y, z] = this.#context.task.goalM;
    this.#point[0] = x;
    this.#point[1] = y;
    this.#point[2] = z + this.#object.halfExtentsM[2] + RELEASE_GAP_M;
    this.#placeRad.set(this.#graspRad);
    if (!this.#solver.reachInto(this.#placeRad, this.#point, undefined)) return false;
    this.#rowCount = this.#lineFrom(this.#placeRad);
    return true;
  }

  #lineFrom(rad: Float64Array): number {
    return this.#solver.lineUpInto(this.#rows, rad, LINE_M, LINE_PIECE_COUNT);
  }

  #largestTurnRad(rad: Float64Array): number {
    let largestRad = 0;
    for (let joint = 0; joint < rad.length; joint += 1) {
      largestRad = Math.max(largestRad, Math.abs(rad[joint]! - this.#homeRad[joint]!));
    }
    return largestRad;
  }

  #isStillThere(state: StateView): boolean {
    const pose = state.field(this.#fieldName)?.values;
    return pose !== undefined && distanceM(pose, this.#pickedM) <= MOVED_M_MAX;
  }

  #isHolding(state: StateView): boolean {
    return state.positionRad[this.#gripper]! - this.#shutRad >= HELD_RAD_MIN;
  }

  #isLifted(state: StateView): boolean {
    const pose = state.field(this.#fieldName)?.values;
    return pose !== undefined && pose[2]! >= this.#pickedM[2]! + LINE_M / 2;
  }

  #isPlaced(state: StateView): boolean {
    const pose = state.field(this.#fieldName)?.values;
    if (pose === undefined) return false;
    const { goalM, goalRadiusM } = this.#context.task;
    this.#point[0] = goalM[0];
    this.#point[1] = goalM[1];
    this.#point[2] = pose[2]!;
    return distanceM(pose, this.#point) <= goalRadiusM;
  }
}

/** Heading of whichever axis of the box lies most level: it may rest on any face. */
function levelYawRad(pose: Float64Array): number {
  const x = pose[3]!;
  const y = pose[4]!;
  const z = pose[5]!;
  const w = pose[6]!;
  const xAxisUp = 2 * (x * z - w * y);
  // One of two axes at right angles is level to 45 degrees at least.
  if (Math.abs(xAxisUp) < 0.7) return atan2(2 * (x * y + w * z), 1 - 2 * (y * y + z * z));
  return atan2(1 - 2 * (x * x + z * z), 2 * (x * y - w * z));
}

function distanceM(from: Float64Array, to: Float64Array): number {
  const x = to[0]! - from[0]!;
  const y = to[1]! - from[1]!;
  const z = to[2]! - from[2]!;
  return Math.sqrt(x * x + y * y + z * z);
}

function unfit(code: "unfit_robot" | "unfit_task", expected: string, found: string): PolicyError {
  const place = code === "unfit_robot" ? "robot" : "task";
  return new PolicyError(code, 'Cannot run policy "pick_place"', { place, expected, found });
}
