// LoadedPolicy: a policy of a user's own as the rest of the program meets it. What is fixed for its
// life is read once, as it is loaded, and copied: a getter that throws, answers something else the
// second time or hands out what it changes later is found out here or has no effect. What may
// change is asked of it each time, and may throw: whoever asks must expect that.

import { DT_NS_MAX, HORIZON_MAX, WIDTH_MAX } from "../contracts/action.ts";
import type { ActionSchema } from "../contracts/action.ts";
import type { Evidence } from "../contracts/evidence.ts";
import { deepFreeze } from "../contracts/frozen.ts";
import type { Policy, SequenceAllocator } from "../contracts/policy.ts";
import type { StateView } from "../contracts/state.ts";
import { NS_PER_S } from "../contracts/units.ts";
import type { Instant } from "../contracts/units.ts";
import { boundedText } from "./error-text.ts";

type Plan = NonNullable<Policy["plan"]>;
type Read = Readonly<Record<string, unknown>>;

/** What a policy says of itself for good. */
export type FixedParts = Pick<Policy, "name" | "schema" | "selectsMode"> & {
  readonly acceptsJpeg: boolean;
  readonly plan: Plan | undefined;
};

/** The fixed parts of what a module built, or what it lacks of a policy. Reads each part once. */
export function fixedPartsOf(value: unknown): FixedParts | string {
  if (typeof value !== "object" || value === null) return "name, schema, reset and act";
  const { name, selectsMode, reset, act, schema, plan, acceptsJpeg = false } = value as Read;
  if (typeof name !== "string") return "a name";
  if (typeof selectsMode !== "boolean") return "selectsMode, true or false";
  if (typeof reset !== "function") return "reset(epoch, allocator)";
  if (typeof act !== "function") return "act(state, nowNs)";
  if (typeof acceptsJpeg !== "boolean") return "acceptsJpeg, true or false, or without it";
  const ownSchema = schemaOf(schema);
  if (typeof ownSchema === "string") return ownSchema;
  const ownPlan = plan === undefined ? undefined : planOf(plan);
  if (typeof ownPlan === "string") return ownPlan;
  return { name: boundedText(name), selectsMode, acceptsJpeg, schema: ownSchema, plan: ownPlan };
}

function schemaOf(value: unknown): ActionSchema | string {
  if (typeof value !== "object" || value === null) return "a schema";
  const { space, columns, representation, translationUnit, rotationUnit, frame } = value as Read;
  if (typeof space !== "string") return "a schema with a space";
  if (!Array.isArray(columns)) return "a schema with columns";
  // One more than is allowed, so that too many are refused as that.
  const names: unknown[] = Array.prototype.slice.call(columns, 0, WIDTH_MAX + 1);
  if (!names.every((name) => typeof name === "string")) return "a schema whose columns are names";
  const own: Record<string, unknown> = { columns: names.map(boundedText) };
  const texts = { space, representation, translationUnit, rotationUnit, frame };
  for (const [part, text] of Object.entries(texts)) {
    if (typeof text === "string") own[part] = boundedText(text);
    else if (text !== undefined && text !== null) return `a schema whose ${part} is a text`;
  }
  return deepFreeze(own as ActionSchema);
}

function planOf(value: unknown): Plan | string {
  const { horizon, dtNs } = Object(value) as Read;
  if (isWhole(horizon, HORIZON_MAX) && isWhole(dtNs, DT_NS_MAX)) {
    return deepFreeze({ horizon, dtNs } as Plan);
  }
  const rows = `horizon, 1 to ${HORIZON_MAX} rows`;
  return `a plan of ${rows}, and dtNs, whole ns up to ${DT_NS_MAX / NS_PER_S} s`;
}

const isWhole = (value: unknown, most: number): boolean =>
  Number.isInteger(value) && Number(value) >= 1 && Number(value) <= most;

export class LoadedPolicy implements Policy {
  readonly name: string;
  readonly schema: ActionSchema;
  readonly selectsMode: boolean;
  readonly acceptsJpeg: boolean;
  readonly plan?: Plan;
  readonly #policy: Policy;

  constructor(policy: Policy, { name, schema, selectsMode, acceptsJpeg, plan }: FixedParts) {
    this.name = name;
    this.schema = schema;
    this.selectsMode = selectsMode;
    this.acceptsJpeg = acceptsJpeg;
    if (plan !== undefined) this.plan = plan;
    this.#policy = policy;
  }

  get statusText(): string {
    return this.#policy.statusText ?? "";
  }
  get trouble(): string {
    return this.#policy.trouble ?? "";
  }
  get isSlow(): boolean {
    return this.#policy.isSlow ?? false;
  }

  /** What may be promised is handed on as it is: one that fails must be known. */
  reset(epoch: number, allocator: SequenceAllocator): unknown {
    return this.#policy.reset(epoch, allocator);
  }

  act(state: StateView, nowNs: Instant): ReturnType<Policy["act"]> {
    return this.#policy.act(state, nowNs);
  }

  receipt(code: Evidence, epoch: number, seq: number, nowNs: Instant): unknown {
    return this.#policy.receipt?.(code, epoch, seq, nowNs);
  }

  close(): unknown {
    return this.#policy.close?.();
  }
}
