// What the tests of this folder share: states that are fresh and complete unless a test says
// otherwise, and a policy that answers what a test tells it to.

import type { ChunkView } from "../contracts/action.ts";
import type { Policy, SequenceAllocator } from "../contracts/policy.ts";
import type { RobotProfile, TaskProfile } from "../contracts/profile.ts";
import { StateLayout, StateSlot, StateView } from "../contracts/state.ts";
import { duration, instant } from "../contracts/units.ts";
import type { Instant } from "../contracts/units.ts";
import type { ChunkWriter } from "./context.ts";
import { policyContext } from "./context.ts";
import type { PolicyContext } from "./context.ts";

export function testContext(robot: RobotProfile, task: TaskProfile): PolicyContext {
  const sources = [...robot.sources, ...task.sources];
  return policyContext(robot, task, new StateLayout(robot, sources, task.instruction));
}

/** At rest at `positionRad`, commanded to be there, every field present at the base's origin. */
export function testState(
  layout: StateLayout,
  positionRad: ArrayLike<number>,
  stampNs: number,
): StateView {
  const state = new StateView(new Float64Array(layout.slotCount), layout);
  const { record } = state;
  record[StateSlot.stampNs] = stampNs;
  record[StateSlot.validityNs] = 15_000_000;
  record[StateSlot.estimatedNs] = stampNs;
  record[StateSlot.qualityProprioRatio] = 1;
  record[StateSlot.qualityTemporalRatio] = 1;
  record[StateSlot.qualityVisionRatio] = 1;
  record[StateSlot.qualityLocalizationRatio] = 1;
  state.positionRad.set(positionRad);
  state.command.set(positionRad);
  for (const field of state.fields) {
    field.set(instant(stampNs), duration(120_000_000), 1, 1);
    field.values[6] = 1;
  }
  return state;
}

/** Answers one chunk of the state's position unless `answer` is replaced. */
export class TestPolicy implements Policy {
  readonly name = "test";
  readonly schema: Policy["schema"];
  readonly writer: ChunkWriter;
  selectsMode = false;
  resets: number[] = [];
  actedNs: number[] = [];
  allocator: SequenceAllocator | undefined;
  answer: (state: StateView) => ChunkView | null | Promise<ChunkView | null>;

  constructor(context: PolicyContext, schema = context.jointPositions) {
    this.schema = schema;
    this.writer = context.writer(schema);
    this.answer = (state) => this.decide(state);
  }

  reset(epoch: number, allocator: SequenceAllocator): void {
    this.resets.push(epoch);
    this.allocator = allocator;
  }

  act(state: StateView, nowNs: Instant): ReturnType<Policy["act"]> {
    this.actedNs.push(nowNs);
    return this.answer(state);
  }

  decide(state: StateView): ChunkView {
    const values = this.writer.begin(state, this.allocator!);
    for (let row = 0; row < this.writer.horizon; row += 1) {
      values.set(state.positionRad, row * this.writer.width);
    }
    return this.writer.chunk;
  }
}
