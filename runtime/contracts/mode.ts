// Modes of the supervisor, and the cues that a person or the process gives it. Numbers, since they
// stand in records; the names beside them are for people.

export const Mode = {
  Starting: 0,
  Running: 1,
  Degraded: 2,
  SafeStop: 3,
  Recover: 4,
  FaultLatched: 5,
} as const;
export type Mode = (typeof Mode)[keyof typeof Mode];

/** Names used in reports, by code. */
export const modeNames = [
  "STARTING",
  "RUNNING",
  "DEGRADED",
  "SAFE_STOP",
  "RECOVER",
  "FAULT_LATCHED",
] as const;

/** The robot may move in this mode, as far as the active faults allow. */
export const mayMove = (mode: number): boolean => mode === Mode.Running || mode === Mode.Degraded;

/** What enters a tick from outside: a person's act, or a fact another thread found. */
export const OperatorCue = {
  None: 0,
  Stop: 1,
  Reset: 2,
  Start: 3,
  /** The process is asked to end: stop under control, and park what would fall. */
  Shutdown: 4,
  DriverLost: 5,
  PolicyLost: 6,
  MainSlow: 7,
  /** Stop, lay down what would fall without power, and let go. */
  Park: 8,
} as const;
export type OperatorCue = (typeof OperatorCue)[keyof typeof OperatorCue];

export interface CuePort {
  /** The next cue, or `None`. May be called in the tick. */
  takeCue(): OperatorCue;
}
