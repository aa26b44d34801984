// PolicyGuard: whatever is asked of a policy, or told to it, beside its decisions. A policy is
// anybody's code: a getter of it may throw, answer something else or megabytes, and what it is told
// may fail at once or later. Each is an error of the policy like any other, kept with the name of
// the part, and nothing here throws.

import type { Evidence } from "../contracts/evidence.ts";
import type { Policy } from "../contracts/policy.ts";
import type { Instant } from "../contracts/units.ts";
import { boundedText, errorText } from "./error-text.ts";

/** What a policy says of itself while it runs. */
const SAYS = { statusText: "string", trouble: "string", isSlow: "boolean" } as const;
type Says = keyof typeof SAYS;

export class PolicyGuard {
  /** Text of the last error; empty when there was none. Who meets one elsewhere sets it here. */
  lastError = "";
  readonly #policy: Policy;
  /** What each part threw last as it was read. */
  readonly #readErrors = new Map<Says, string>();

  constructor(policy: Policy) {
    this.#policy = policy;
  }

  /** On one line, of a bounded length. */
  get statusText(): string {
    return this.#text("statusText");
  }
  get trouble(): string {
    return this.#text("trouble");
  }
  get isSlow(): boolean {
    return this.#read("isSlow") === true;
  }

  receipt(code: Evidence, epoch: number, seq: number, nowNs: Instant): void {
    this.#tell("receipt", () => this.#policy.receipt?.(code, epoch, seq, nowNs));
  }

  close(): void {
    this.#tell("close", () => this.#policy.close?.());
  }

  #tell(part: string, tell: () => unknown): void {
    try {
      const done = tell();
      if (done instanceof Promise) void this.#hear(part, done);
    } catch (error) {
      this.#failed(part, errorText(error));
    }
  }

  async #hear(part: string, done: Promise<unknown>): Promise<void> {
    try {
      await done;
    } catch (error) {
      this.#failed(part, errorText(error));
    }
  }

  #text(part: "statusText" | "trouble"): string {
    const text = this.#read(part);
    return typeof text === "string" ? boundedText(text) : "";
  }

  /** Undefined when the policy says nothing, or nothing of this kind. */
  #read(part: Says): unknown {
    const kind = SAYS[part];
    let wrong = "";
    try {
      const said: unknown = this.#policy[part];
      if (typeof said === kind || said === undefined || said === null) return said;
      wrong = `expected a ${kind}, found ${typeof said}`;
    } catch (error) {
      wrong = errorText(error);
    }
    // It is asked hundreds of times a second: the same error again is none.
    if (wrong !== this.#readErrors.get(part)) this.#failed(part, wrong);
    this.#readErrors.set(part, wrong);
    return undefined;
  }

  #failed(part: string, text: string): void {
    this.lastError = boundedText(`${part}: ${text}`);
  }
}
