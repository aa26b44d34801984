// RunHandle: what keys, the operator socket and the page may see of a run and do to it. The same
// for streaming and lockstep; none of the three knows which it has.

/** One look at a run. Plain data: it goes to the terminal, the socket and the page as it is. */
export type RunStatus = {
  readonly profile: string;
  readonly task: string;
  readonly policy: string;
  readonly timeModel: "streaming" | "lockstep";
  readonly mode: string;
  /** The reason of the newest tick, by name. */
  readonly reason: string;
  readonly tick: number;
  readonly epoch: number;
  readonly sessionS: number;
  readonly rateAskedHz: number;
  readonly rateHz: number;
  readonly lateTicks: number;
  readonly missedTicks: number;
  readonly wakeUsP50: number;
  readonly wakeUsP99: number;
  readonly workUsP99: number;
  readonly sampleAgeMsP50: number;
  readonly faults: readonly string[];
  readonly jointNames: readonly string[];
  readonly measuredRad: readonly number[];
  readonly commandRad: readonly number[];
  /** What a person should know and do now: which key or command goes on. One line. */
  readonly hint: string;
  /** Shown all run: no real-time priority, memory not locked, … */
  readonly warnings: readonly string[];
  readonly taskSuccess: boolean;
  readonly episodeCount: number;
  readonly successCount: number;
};

/** Whether a cue was handed on, and what to tell the person. */
export type CueAnswer = { readonly accepted: boolean; readonly text: string };

export interface RunHandle {
  status(): RunStatus;
  /** Stops at once. Needs no authority. */
  stop(): CueAnswer;
  /** Leaves a stop; never starts motion. */
  reset(): CueAnswer;
  start(): CueAnswer;
  /** Ends the run under control. A second call leaves at once. */
  quit(): void;
  /**
   * The newest camera picture as JPEG, or undefined when there is no camera or none was drawn yet.
   * Asking makes the camera draw for the next second.
   */
  frame(): Promise<Uint8Array | undefined>;
}
