// PolicyContext: what a policy is built from. Everything a policy file needs comes through it, so
// that a file outside this tree imports nothing of ours and works beside the compiled binary.

import {
  ChunkSlot,
  ChunkView,
  HORIZON_MAX,
  jointSchema,
  schemaFingerprint,
} from "../contracts/action.ts";
import type { ActionSchema } from "../contracts/action.ts";
import { assert } from "../contracts/assert.ts";
import { deepFreeze } from "../contracts/frozen.ts";
import type { PictureReader, Policy, SequenceAllocator } from "../contracts/policy.ts";
import type { RobotProfile, TaskProfile } from "../contracts/profile.ts";
import type { StateLayout, StateView } from "../contracts/state.ts";

export type PolicyContext = {
  readonly robot: RobotProfile;
  readonly task: TaskProfile;
  readonly layout: StateLayout;
  /** Joint positions in profile order: the schema of a policy that wants no other. */
  readonly jointPositions: ActionSchema;
  /** A chunk of the profile's horizon and step to write decisions into. */
  writer(schema: ActionSchema): ChunkWriter;
  /** The pixels of a state's pictures; undefined where there is no camera. */
  readonly pictures: PictureReader | undefined;
};

export type PolicyFactory = (context: PolicyContext) => Policy;

/** One chunk, written again for each decision. */
export class ChunkWriter {
  readonly chunk = new ChunkView();
  readonly schema: ActionSchema;
  readonly horizon: number;
  readonly width: number;
  readonly #fingerprint: number;
  readonly #dtNs: RobotProfile["policy"]["dtNs"];

  constructor(schema: ActionSchema, plan: Pick<RobotProfile["policy"], "horizon" | "dtNs">) {
    assert(plan.horizon >= 1 && plan.horizon <= HORIZON_MAX, "the horizon fits a chunk");
    this.schema = schema;
    this.horizon = plan.horizon;
    this.width = schema.columns.length;
    this.#fingerprint = schemaFingerprint(schema);
    this.#dtNs = plan.dtNs;
  }

  /** Heads a decision on `state`, numbered by `allocator`. The values are left for the caller. */
  begin(state: StateView, allocator: SequenceAllocator): Float64Array {
    const { chunk } = this;
    chunk.begin(allocator.epoch, allocator.next(), this.horizon, this.width, this.#dtNs);
    chunk.record[ChunkSlot.schemaFingerprint] = this.#fingerprint;
    chunk.record[ChunkSlot.stateStampNs] = state.stampNs;
    return chunk.values;
  }
}

/** Profiles are copies of their own and frozen: gate and simulation share nothing with a policy. */
export function policyContext(
  robot: RobotProfile,
  task: TaskProfile,
  layout: StateLayout,
  pictures?: PictureReader,
): PolicyContext {
  const jointPositions = jointSchema(
    "joint_pos",
    robot.joints.map((joint) => joint.name),
  );
  const own = deepFreeze(structuredClone({ robot, task }));
  const writer = (schema: ActionSchema) => new ChunkWriter(schema, own.robot.policy);
  return Object.freeze({ ...own, layout: deepFreeze(layout), jointPositions, writer, pictures });
}
