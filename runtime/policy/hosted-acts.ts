// HostedActs: a policy as a policy host's thread asks it, one observation after the other, each
// answer waited for. Nothing that the policy throws or answers leaves here as anything but an error
// of the act: a reset that fails makes every act of its epoch fail, a chunk whose head no message
// can hold its own. What only lies goes on, and is refused by name where chunks are judged.

import { ChunkView } from "../contracts/action.ts";
import { SequenceAllocator } from "../contracts/policy.ts";
import type { Policy } from "../contracts/policy.ts";
import type { StateView } from "../contracts/state.ts";
import type { Instant } from "../contracts/units.ts";
import { copyAnswerInto } from "./answer.ts";
import { boundedText, errorText } from "./error-text.ts";

export class HostedActs {
  readonly #policy: Pick<Policy, "reset" | "act">;
  #epoch = -1;
  /** Why the reset of this epoch failed. */
  #resetError = "";

  constructor(policy: Pick<Policy, "reset" | "act">) {
    this.#policy = policy;
  }

  reset(epoch: number): void {
    this.#epoch = epoch;
    this.#resetError = "";
    void this.#reset(epoch);
  }

  /**
   * The caller's own copy; null when the policy decided nothing. Throws an Error whose message is
   * what is wrong, on one line.
   */
  async act(state: StateView, nowNs: Instant): Promise<ChunkView | null> {
    if (this.#resetError !== "") throw new Error(this.#resetError);
    const chunk = new ChunkView();
    let wrong: string | undefined;
    try {
      const given: unknown = this.#policy.act(state, nowNs);
      const answer = given instanceof Promise ? ((await given) as unknown) : given;
      if (answer === null) return null;
      wrong = copyAnswerInto(chunk, answer) ?? unsendable(chunk);
    } catch (error) {
      wrong = `act threw: ${errorText(error)}`;
    }
    if (wrong !== undefined) throw new Error(boundedText(wrong));
    return chunk;
  }

  /** One that promises delays nothing. */
  async #reset(epoch: number): Promise<void> {
    try {
      const done: unknown = this.#policy.reset(epoch, new SequenceAllocator(epoch));
      await done;
    } catch (error) {
      if (epoch === this.#epoch) this.#resetError = boundedText(`reset threw: ${errorText(error)}`);
    }
  }
}

/** Why no message can hold this chunk; undefined when one can. */
function unsendable({ horizon, width, dtNs, validFromNs, values }: ChunkView): string | undefined {
  const isBlock = isCount(horizon) && isCount(width) && horizon * width <= values.length;
  const isTimed = isCount(dtNs) && Number.isSafeInteger(Math.round(validFromNs));
  if (isBlock && isTimed) return undefined;
  const found = `horizon ${horizon}, width ${width}, dtNs ${dtNs}, validFromNs ${validFromNs}`;
  return `act answered a chunk with a head of no whole numbers: ${found}`;
}

const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 1;
