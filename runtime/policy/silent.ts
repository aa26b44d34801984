// Silent: decides for two seconds, then never again, as a policy does that hangs. Its last decision
// may run to its end and no further.

import type { Policy } from "../contracts/policy.ts";
import { GOOD_ACTS, Misbehaving } from "./misbehaving.ts";

export function silent(inner: Policy): Policy {
  return new Misbehaving("silent", inner, () => null, GOOD_ACTS);
}
