// RunHooks: what a run tells whoever started it. The run never prints: the command line does, and
// knows whether there is a terminal.

import type { ModeChange } from "../record/mode-story.ts";
import type { RunHandle } from "./run-handle.ts";

export type RunHooks = {
  /** The run can be seen and spoken to from now on. */
  onHandle(handle: RunHandle): void;
  /** Resolves when a person asks for the end, also before there is a handle. */
  readonly endAsked: Promise<void>;
  /** One line for a person. */
  note(text: string): void;
  /** The record of each tick, as it comes; the next overwrites it. */
  ticked?(record: Float64Array): void;
  /** The mode changed; `firstNs` is when the session's first tick was. */
  changed(change: ModeChange, firstNs: number): void;
};
