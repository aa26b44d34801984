// RunHandle: what keys, the operator socket and the page may see of a run and do to it. The same
// for streaming and lockstep; none of the three knows which it has.

import type { ActName } from "./hint.ts";

/** One look at a run. Plain data: it goes to the terminal, the socket and the page as it is. */
export type RunStatus = {
  /** The deployment's own name, or the robot's. */
  readonly profile: string;
  readonly task: string;
  /** By its own name; a file that is still loading by its path. */
  readonly policy: string;
  /** How long its host takes, in words; empty without a host. */
  readonly policyHost: string;
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
  /** What led into the stop that the run is in, cleared or not; empty when it is in none. */
  readonly cause: string;
  /** When that was; NaN when the run is in no stop. */
  readonly causeS: number;
  /** What a person should know now. One line, the same on every surface. */
  readonly hint: string;
  /** What a person may do now, by name and in order; each surface has its own words for it. */
  readonly acts: readonly ActName[];
  /** Shown all run: no real-time priority, memory not locked, … */
  readonly warnings: readonly string[];
  /** The independent e-stop: mode and cause, or none. */
  readonly estop: string;
  /** When it has stopped a robot whose host is silent; empty without one, or before it speaks. */
  readonly cutTime: string;
  readonly taskSuccess: boolean;
  /** Episodes that are over. */
  readonly episodeCount: number;
  readonly isEpisodeUnderWay: boolean;
  readonly successCount: number;
};

/** Whether a cue was handed on, and what to tell. One that would change nothing is not. */
export type CueAnswer = { readonly accepted: boolean; readonly text: string };

export interface RunHandle {
  status(): RunStatus;
  /** Stops at once. Needs no authority. */
  stop(): CueAnswer;
  /** Leaves a stop; never starts motion. */
  reset(): CueAnswer;
  start(): CueAnswer;
  /** Stops, lays down what would fall without power, and lets go. Needs no authority. */
  park(): CueAnswer;
  /** Lets go at once of what is being parked. False when nothing is: there is none to wait for. */
  letGo(): boolean;
  /** Presses the button of an emulated e-stop. */
  estop(): CueAnswer;
  /** Presses the reset that an emulated e-stop waits for. */
  arm(): CueAnswer;
  /** Has the e-stop's proof test tried again. */
  prooftest(): CueAnswer;
  /** The end of the run takes a while: the robot is parked first. */
  readonly parks: boolean;
  /** Ends the run under control. */
  quit(): void;
  /**
   * The newest camera picture as JPEG, or undefined when there is no camera or none was drawn yet.
   * Asking makes the camera draw its next 40, which is two seconds at 20 Hz.
   */
  frame(): Promise<Uint8Array | undefined>;
}
