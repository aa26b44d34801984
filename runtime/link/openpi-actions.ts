// OpenpiActions: what the rows of an openpi server's answer are to us. Their shape is judged by the
// deployment's mapping and every number must be finite; then columns are put in our order, scaled
// into our units, and added up where each row is against the row before.

import { ChunkSlot, jointSchema, schemaFingerprint, toolDeltaSchema } from "../contracts/action.ts";
import type { ActionSchema, ChunkView } from "../contracts/action.ts";
import { assert } from "../contracts/assert.ts";
import type { OpenpiColumn, OpenpiMapping } from "../contracts/openpi.ts";
import type { RobotProfile } from "../contracts/profile.ts";
import type { StateView } from "../contracts/state.ts";
import { instant, NS_PER_S } from "../contracts/units.ts";
import { composeInto, POSE_SLOTS, poseErrorInto } from "../kinematics/pose.ts";
import { setTurn } from "../policy/turn.ts";
import type { Problem, ReadArray } from "./openpi-codec.ts";

const TOOL_COUNT = 6;
const NO_POSE = Float64Array.of(0, 0, 0, 0, 0, 0, 1);

type Picked = OpenpiColumn & { readonly index: number };

export class OpenpiActions {
  /** Ours: positions where velocities have a position among them, else the mapping's space. */
  readonly schema: ActionSchema;
  readonly #mapping: OpenpiMapping;
  readonly #fingerprint: number;
  /** Per column of the schema, the column of theirs. */
  readonly #picked: readonly Picked[];
  /** Per column of the schema, the joint; -1 for the tool's. */
  readonly #joints: readonly number[];
  readonly #movesOwnRow: boolean;
  readonly #sum = new Float64Array(POSE_SLOTS);
  readonly #step = new Float64Array(POSE_SLOTS);
  readonly #error = new Float64Array(TOOL_COUNT);

  constructor(mapping: OpenpiMapping, robot: RobotProfile) {
    const names = robot.joints.map(({ name }) => name);
    const followed = mapping.columns.map((column, index) => ({ ...column, index }));
    const decided = names.filter((name) => followed.some(({ to }) => to === name));
    this.#mapping = mapping;
    this.schema = schemaOf(mapping, decided);
    this.#fingerprint = schemaFingerprint(this.schema);
    this.#picked = this.schema.columns.map((name) => {
      const column = followed.find(({ to }) => to === name);
      assert(column !== undefined, "a checked mapping has a column for each of ours");
      return column;
    });
    this.#joints = this.schema.columns.map((name) => names.indexOf(name));
    // As ActionAdapter: held rows stand for their whole interval, motion included.
    this.#movesOwnRow = robot.policy.interpolation === "hold";
  }

  /** Why these rows are not used; undefined when they may be. */
  refusalOf({ shape, values }: ReadArray): Problem | undefined {
    const { horizon, columns } = this.#mapping;
    const isShaped = shape.length === 2 && shape[0] === horizon && shape[1] === columns.length;
    if (!isShaped) {
      const expected = `actions of the shape (${horizon}, ${columns.length})`;
      return { expected, found: `(${shape.join(", ")})` };
    }
    const at = values.findIndex((value) => !Number.isFinite(value));
    if (at < 0) return undefined;
    const place = `row ${Math.floor(at / columns.length)}, column ${at % columns.length}`;
    return { expected: "finite actions", found: `${values[at]!} in ${place}` };
  }

  /** Call it with rows that were not refused, and the state that they answer. */
  writeInto(out: ChunkView, rows: ReadArray, state: StateView, epoch: number, seq: number): void {
    const { executedRowCount, dtNs, columns } = this.#mapping;
    const width = this.#picked.length;
    out.begin(epoch, seq, executedRowCount, width, dtNs);
    out.record[ChunkSlot.schemaFingerprint] = this.#fingerprint;
    out.record[ChunkSlot.stateStampNs] = state.stampNs;
    // A model on another machine always answers what was, not what is.
    const fromNs = state.stampNs;
    out.setWindow(fromNs, instant(fromNs + executedRowCount * dtNs));
    for (let row = 0; row < executedRowCount; row += 1) {
      for (const [column, { index, scaleFactor, offset }] of this.#picked.entries()) {
        const theirs = rows.values[row * columns.length + index]!;
        out.values[row * width + column] = theirs * scaleFactor + offset;
      }
    }
    this.#addUp(out, state);
  }

  #addUp(out: ChunkView, state: StateView): void {
    const { space, eachRowFrom } = this.#mapping;
    const addsUp = eachRowFrom === "row_before";
    if (space === "joint_vel" && this.schema.space === "joint_pos") this.#integrate(out, state);
    if (space === "joint_delta") this.#sumDeltas(out, state, addsUp);
    if (space === "ee_pose_delta" && addsUp) this.#sumPoses(out);
  }

  /** Velocities from the last command that the state has, so that the plan begins where it is. */
  #integrate(out: ChunkView, state: StateView): void {
    const width = this.#picked.length;
    const dtS = out.dtNs / NS_PER_S;
    for (const [column, { isPosition }] of this.#picked.entries()) {
      if (isPosition) continue;
      let positionRad = state.command[this.#joints[column]!]!;
      for (let row = 0; row < out.horizon; row += 1) {
        const at = row * width + column;
        const beforeRad = positionRad;
        positionRad += out.values[at]! * dtS;
        out.values[at] = this.#movesOwnRow ? positionRad : beforeRad;
      }
    }
  }

  /** A position among deltas becomes one: the adapter adds the measured position again. */
  #sumDeltas(out: ChunkView, state: StateView, addsUp: boolean): void {
    const width = this.#picked.length;
    for (const [column, { isPosition }] of this.#picked.entries()) {
      const measuredRad = state.positionRad[this.#joints[column]!]!;
      for (let row = 0; row < out.horizon; row += 1) {
        const at = row * width + column;
        if (isPosition) out.values[at]! -= measuredRad;
        else if (addsUp && row > 0) out.values[at]! += out.values[at - width]!;
      }
    }
  }

  /** Base: moves add, turns follow each other about its axes. Tool: each in the last frame. */
  #sumPoses(out: ChunkView): void {
    const width = this.#picked.length;
    const sum = this.#sum;
    const step = this.#step;
    sum.set(NO_POSE);
    for (let row = 0; row < out.horizon; row += 1) {
      const [x, y, z, rx, ry, rz] = out.values.subarray(row * width, row * width + TOOL_COUNT);
      step.set([x!, y!, z!]);
      setTurn(step, rx!, ry!, rz!);
      if (this.#mapping.frame === "tool") composeInto(sum, sum, step);
      else {
        const moved = [sum[0]! + x!, sum[1]! + y!, sum[2]! + z!];
        composeInto(sum, step, sum);
        sum.set(moved);
      }
      poseErrorInto(this.#error, NO_POSE, sum);
      out.values.set(this.#error, row * width);
    }
  }
}

function schemaOf({ space, frame, columns }: OpenpiMapping, joints: readonly string[]) {
  if (space === "ee_pose_delta") return toolDeltaSchema(frame ?? "base", joints);
  const hasPosition = columns.some(({ isPosition }) => isPosition);
  const isIntegrated = space === "joint_vel" && hasPosition;
  return jointSchema(isIntegrated ? "joint_pos" : space, joints);
}
