// A supervisor in virtual time, a tick every 5 ms, for the tests of this folder: a few words per
// step, and every answer a core reads after it.

import { OperatorCue, modeNames } from "../runtime/contracts/mode.ts";
import type { RobotProfile } from "../runtime/contracts/profile.ts";
import { Reason } from "../runtime/contracts/reason.ts";
import { instant, milliseconds } from "../runtime/contracts/units.ts";
import type { Fault } from "./faults.ts";
import { testProfile } from "./fixture.ts";
import { Supervisor } from "./supervisor.ts";

export const PERIOD_NS = 5_000_000;

type Answers = {
  readonly mode: string;
  readonly allowsMotion: boolean;
  readonly stopRequested: boolean;
  readonly epochRaised: boolean;
  readonly started: boolean;
  readonly activeFaults: number;
};

/** A supervisor with its own time. Every helper ends after a step, so its answers can be read. */
export class SupervisorRig {
  readonly supervisor: Supervisor;
  nowNs = 0;

  constructor(changes: Partial<RobotProfile["supervisor"]> = {}) {
    const profile = testProfile();
    this.supervisor = new Supervisor({
      ...profile,
      supervisor: { ...profile.supervisor, ...changes },
    });
  }

  cue(...cues: OperatorCue[]): this {
    for (const cue of cues) this.supervisor.cue(cue, instant(this.nowNs));
    return this;
  }

  raise(...faults: Fault[]): this {
    for (const fault of faults) this.supervisor.raise(fault);
    return this;
  }

  /** One tick; a stop hides every other reason, as in the core. */
  step(reason: Reason = Reason.Ok, gateFaults = 0): this {
    const judged = this.supervisor.stopRequested ? Reason.Stop : reason;
    this.supervisor.step(judged, gateFaults, instant(this.nowNs));
    this.nowNs += PERIOD_NS;
    return this;
  }

  /** Ticks for so long; at the end as much time has passed since the first of them. */
  last(ms: number, reason: Reason = Reason.Ok, gateFaults = 0): this {
    const untilNs = this.nowNs + milliseconds(ms);
    while (this.nowNs <= untilNs) this.step(reason, gateFaults);
    return this;
  }

  running(): this {
    return this.cue(OperatorCue.Start).step();
  }

  /** Running, and a first decision was there. */
  following(): this {
    return this.running().step();
  }

  stopped(): this {
    return this.running().cue(OperatorCue.Stop).step();
  }

  get path(): string {
    const { path, pathLength } = this.supervisor;
    return [...path.subarray(0, pathLength)].map((mode) => modeNames[mode]).join(" ");
  }

  get mode(): string {
    return modeNames[this.supervisor.mode];
  }

  /** Everything a core reads after a step. */
  get answers(): Answers {
    const { mode, allowsMotion, stopRequested, epochRaised, started, activeFaults } =
      this.supervisor;
    return {
      mode: modeNames[mode],
      allowsMotion,
      stopRequested,
      epochRaised,
      started,
      activeFaults,
    };
  }
}

export const running: Answers = {
  mode: "RUNNING",
  allowsMotion: true,
  stopRequested: false,
  epochRaised: false,
  started: false,
  activeFaults: 0,
};
