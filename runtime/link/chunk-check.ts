// Judges a chunk of the host before anything of it is used, and writes it as one of ours. What the
// buffer judges later (order, window, state's time) is left to it; what would not fit a record, or
// answers something else than was asked, is refused here by a word that the host is told.

import {
  ChunkSlot,
  DT_NS_MAX,
  HORIZON_MAX,
  schemaFingerprint,
  WIDTH_MAX,
} from "../contracts/action.ts";
import type { ActionSchema, ChunkView } from "../contracts/action.ts";
import { assert } from "../contracts/assert.ts";
import { duration, instant } from "../contracts/units.ts";
import type { Instant } from "../contracts/units.ts";
import type { Chunk } from "./generated/policy_pb.js";

/** What was asked: who may answer, and when the state was sampled. */
export type Asked = {
  readonly epoch: number;
  readonly seq: number;
  readonly stampNs: Instant;
};

/** What the handshake said of every chunk. A policy trained with another horizon shakes the arm. */
export type ChunkPlan = {
  readonly schema: ActionSchema;
  readonly horizon: number;
  readonly dtNs: number;
};

export type ChunkRefusal =
  | "wrong_epoch"
  | "wrong_schema"
  | "wrong_width"
  | "wrong_horizon"
  | "wrong_dt"
  | "wrong_count"
  | "not_finite"
  | "wrong_start_offset";

export class ChunkCheck {
  readonly #plan: ChunkPlan;
  readonly #fingerprint: number;

  constructor(plan: ChunkPlan) {
    const { schema, horizon, dtNs } = plan;
    assert(schema.columns.length <= WIDTH_MAX, "a row fits a record");
    assert(horizon >= 1 && horizon <= HORIZON_MAX, "the rows fit a record");
    assert(dtNs >= 1 && dtNs <= DT_NS_MAX, "rows lie at most a second apart");
    this.#plan = plan;
    this.#fingerprint = schemaFingerprint(schema);
  }

  refusalOf(chunk: Chunk, asked: Asked): ChunkRefusal | undefined {
    const { horizon, width, values } = chunk;
    const { schema, horizon: told, dtNs } = this.#plan;
    if (Number(chunk.epoch) !== asked.epoch) return "wrong_epoch";
    if (Number(chunk.actionSchemaFingerprint) !== this.#fingerprint) return "wrong_schema";
    if (width !== schema.columns.length) return "wrong_width";
    if (horizon !== told) return "wrong_horizon";
    if (Number(chunk.dtNs) !== dtNs) return "wrong_dt";
    if (values.length !== horizon * width) return "wrong_count";
    if (!values.every(Number.isFinite)) return "not_finite";
    const offsetNs = Math.abs(Number(chunk.startOffsetNs ?? 0));
    return offsetNs <= HORIZON_MAX * DT_NS_MAX ? undefined : "wrong_start_offset";
  }

  /** Call it with a chunk that was not refused. The stamp is the asked state's. */
  writeInto(out: ChunkView, chunk: Chunk, asked: Asked): void {
    const { horizon, width, values } = chunk;
    const dtNs = duration(Number(chunk.dtNs));
    out.begin(asked.epoch, asked.seq, horizon, width, dtNs);
    out.record[ChunkSlot.schemaFingerprint] = this.#fingerprint;
    out.record[ChunkSlot.stateStampNs] = asked.stampNs;
    out.values.set(values);
    if (chunk.startOffsetNs === undefined) return; // the run's anchoring decides
    const fromNs = instant(asked.stampNs + Number(chunk.startOffsetNs));
    out.setWindow(fromNs, instant(fromNs + horizon * dtNs));
  }
}
