// ActionAdapter: turns a decision, whatever its space, into the robot's own command space, once per
// chunk. Columns find their joints by name, never by place; a schema that does not name exactly the
// robot's joints is refused when the adapter is built. What it cannot turn it marks as refused.
//
// Numbers are not judged here: what is not finite goes on as it is, and a header that lies (schema,
// width, horizon, step) goes on so that the ActionBuffer refuses it by name.

import {
  ChunkBase,
  ChunkSlot,
  DT_NS_MAX,
  HORIZON_MAX,
  jointSchema,
  schemaFingerprint,
} from "../contracts/action.ts";
import type { ActionSchema, ChunkView } from "../contracts/action.ts";
import { Evidence } from "../contracts/evidence.ts";
import type { RobotProfile } from "../contracts/profile.ts";
import type { StateView } from "../contracts/state.ts";
import { NS_PER_S } from "../contracts/units.ts";
import { columnsToJoints } from "./columns.ts";
import { ToolDelta } from "./tool-delta.ts";

/** Of the robot's own command space: the only schema that buffer and gate accept. */
export function commandFingerprint(robot: Pick<RobotProfile, "joints">): number {
  return schemaFingerprint(
    jointSchema(
      "joint_pos",
      robot.joints.map((joint) => joint.name),
    ),
  );
}

export class ActionAdapter {
  /** What the chunks given to it must carry. */
  readonly inputFingerprint: number;
  readonly outputFingerprint: number;
  readonly #space: ActionSchema["space"];
  readonly #inputWidth: number;
  readonly #jointCount: number;
  /** Column of each joint; -1 for a joint that the tool pose decides. */
  readonly #columnOf: Int32Array;
  readonly #isPosition: Uint8Array;
  readonly #tool: ToolDelta | undefined;
  /** True when a row's velocity moves the row itself, false when it moves the next. */
  readonly #movesOwnRow: boolean;

  /** Throws PolicyError "bad_schema" naming the column or joint that does not fit. */
  constructor(schema: ActionSchema, robot: RobotProfile) {
    this.inputFingerprint = schemaFingerprint(schema);
    this.outputFingerprint = commandFingerprint(robot);
    this.#space = schema.space;
    this.#inputWidth = schema.columns.length;
    this.#jointCount = robot.joints.length;
    this.#columnOf = columnsToJoints(schema, robot);
    this.#isPosition = Uint8Array.from(robot.joints, (joint) =>
      joint.command === "position" ? 1 : 0,
    );
    this.#tool = schema.space === "ee_pose_delta" ? new ToolDelta(schema.frame, robot) : undefined;
    // Held rows stand for their whole interval, so the motion of the interval belongs to them.
    this.#movesOwnRow = robot.policy.interpolation === "hold";
  }

  /** `state` is the one the decision answers. `out` may not be `chunk`. */
  adaptInto(out: ChunkView, chunk: ChunkView, state: StateView): void {
    if (!this.#readsWell(chunk)) {
      out.copyFrom(chunk);
      this.#markUnread(out, chunk);
      return;
    }
    out.record.set(chunk.record.subarray(0, ChunkSlot.values));
    out.record[ChunkSlot.schemaFingerprint] = this.outputFingerprint;
    out.record[ChunkSlot.width] = this.#jointCount;
    out.record[ChunkSlot.base] = ChunkBase.Absolute;
    out.record[ChunkSlot.refusal] = Evidence.Accepted;
    if (this.#space === "joint_pos") this.#placeColumns(out, chunk, undefined);
    else if (this.#space === "joint_delta") this.#placeColumns(out, chunk, state.positionRad);
    else if (this.#space === "joint_vel") this.#integrate(out, chunk);
    else this.#turnPoses(out, chunk, state);
  }

  #readsWell(chunk: ChunkView): boolean {
    const { horizon, dtNs } = chunk;
    return (
      chunk.schemaFingerprint === this.inputFingerprint &&
      chunk.width === this.#inputWidth &&
      Number.isInteger(horizon) &&
      horizon >= 1 &&
      horizon <= HORIZON_MAX &&
      dtNs > 0 &&
      dtNs <= DT_NS_MAX
    );
  }

  /** Whatever its lie is, the copy may not look as if it were in the robot's command space. */
  #markUnread(out: ChunkView, chunk: ChunkView): void {
    const { record } = out;
    if (chunk.schemaFingerprint !== this.inputFingerprint) record[ChunkSlot.schemaFingerprint] = 0;
    else record[ChunkSlot.schemaFingerprint] = this.outputFingerprint;
    if (chunk.width === this.#inputWidth) record[ChunkSlot.width] = this.#jointCount;
    else record[ChunkSlot.width] = 0;
    if (!(chunk.dtNs > 0 && chunk.dtNs <= DT_NS_MAX)) record[ChunkSlot.horizon] = 0;
    record[ChunkSlot.refusal] = Evidence.Accepted;
  }

  #placeColumns(out: ChunkView, chunk: ChunkView, base: Float64Array | undefined): void {
    const count = this.#jointCount;
    for (let row = 0; row < chunk.horizon; row += 1) {
      for (let joint = 0; joint < count; joint += 1) {
        const value = chunk.values[row * this.#inputWidth + this.#columnOf[joint]!]!;
        out.values[row * count + joint] = base === undefined ? value : base[joint]! + value;
      }
    }
  }

  /** Position joints get offsets from the command at takeover, velocity joints the rate itself. */
  #integrate(out: ChunkView, chunk: ChunkView): void {
    const count = this.#jointCount;
    const dtS = chunk.dtNs / NS_PER_S;
    out.record[ChunkSlot.base] = ChunkBase.TakeoverCommand;
    for (let joint = 0; joint < count; joint += 1) {
      let offsetRad = 0;
      for (let row = 0; row < chunk.horizon; row += 1) {
        const rate = chunk.values[row * this.#inputWidth + this.#columnOf[joint]!]!;
        const before = offsetRad;
        offsetRad += rate * dtS;
        const offset = this.#movesOwnRow ? offsetRad : before;
        out.values[row * count + joint] = this.#isPosition[joint] === 1 ? offset : rate;
      }
    }
  }

  #turnPoses(out: ChunkView, chunk: ChunkView, state: StateView): void {
    const tool = this.#tool!;
    const count = this.#jointCount;
    for (let index = 0; index < chunk.horizon * this.#inputWidth; index += 1) {
      if (Number.isFinite(chunk.values[index]!)) continue;
      out.values[0] = Number.NaN; // no solver may spin on it; the buffer refuses it by name
      return;
    }
    tool.begin(state.positionRad);
    for (let row = 0; row < chunk.horizon; row += 1) {
      const refusal = tool.solveRow(chunk.values, row * this.#inputWidth);
      if (refusal !== Evidence.Accepted) {
        out.record[ChunkSlot.refusal] = refusal;
        return;
      }
      for (let joint = 0; joint < count; joint += 1) {
        const column = this.#columnOf[joint]!;
        out.values[row * count + joint] =
          column < 0 ? tool.positionRad[joint]! : chunk.values[row * this.#inputWidth + column]!;
      }
    }
  }
}
