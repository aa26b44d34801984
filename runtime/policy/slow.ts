// Slow: every decision takes effect a fixed time after it was begun, and says so: its window and
// its `generated_at` lie in the future. Between the act and then, nothing of it can be executed.

import { ChunkSlot } from "../contracts/action.ts";
import type { Policy } from "../contracts/policy.ts";
import { instant } from "../contracts/units.ts";
import type { Duration } from "../contracts/units.ts";
import { Misbehaving } from "./misbehaving.ts";
import type { Spoil } from "./misbehaving.ts";

export function slow(inner: Policy, latencyNs: Duration): Policy {
  const delay: Spoil = (chunk, _badIndex, nowNs) => {
    const readyNs = nowNs + latencyNs;
    chunk.record[ChunkSlot.generatedNs] = readyNs;
    chunk.setWindow(instant(readyNs), instant(readyNs + chunk.horizon * chunk.dtNs));
    return chunk;
  };
  return new Misbehaving("slow", inner, delay, 0);
}
