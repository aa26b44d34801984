// The kill matrix as data: what ends or hangs which part of the program, and what must come of it
// with the e-stop armed. `kill-matrix.test.ts` proves each row with the whole program and the
// emulated board; the loss table of safety/README.md tells the same.

export type KillRow = {
  readonly id: string;
  readonly cause: string;
  readonly detectedBy: string;
  /**
   * From the last byte of the host to open outputs, at most, in the chip's own time: the bound
   * that the test holds. What a thread of the host notices isn't timed here; `–`: nobody does.
   */
  readonly withinMs: number | "not timed" | "–";
  readonly robotDoes: string;
  /** Whether an arm falls for which a cut is not safe. */
  readonly armFalls: string;
  readonly rearm: string;
  /** What the chip does with its outputs: cuts on silence, nothing, or opens on a goodbye. */
  readonly expected: "cut" | "no cut" | "goodbye";
};

const silence = "chip: silence";
/** T_wd of the emulated board, and one ms. */
const CUT_MS_MAX = 101;
/** Half of T_wd: an answer that says goodbye opens, and no silence. */
const GOODBYE_MS_MAX = 50;
const byReset = "a person: e-stop reset after its proof test, then reset, then start";
const byRestart = "a person, after a restart";

/** What all have in common that cut. */
const cut = {
  detectedBy: silence,
  withinMs: CUT_MS_MAX,
  armFalls: "yes",
  expected: "cut",
} as const;
const noCut = { withinMs: "not timed", armFalls: "no", expected: "no cut" } as const;

export const KILL_ROWS: readonly KillRow[] = [
  {
    id: "sigkill",
    cause: "process killed, by the kernel for its memory too",
    robotDoes: "outputs open",
    rearm: byRestart,
    ...cut,
  },
  {
    id: "sigstop",
    cause: "process stopped, and going on",
    robotDoes: "outputs open; latches once it goes on",
    rearm: byReset,
    ...cut,
  },
  {
    id: "native_crash",
    cause: "native code crashes",
    robotDoes: "outputs open",
    rearm: byRestart,
    ...cut,
  },
  {
    id: "control_thrown",
    cause: "control thread throws",
    robotDoes: "outputs open, the run ends",
    rearm: byRestart,
    ...cut,
  },
  {
    id: "control_hung",
    cause: "control thread loops for ever",
    robotDoes: "outputs open, the run ends",
    rearm: byRestart,
    ...cut,
  },
  {
    id: "control_terminated",
    cause: "control thread ends unseen",
    robotDoes: "outputs open, the run ends",
    rearm: byRestart,
    ...cut,
  },
  {
    id: "heap_exhausted",
    cause: "heap of the control thread exhausted",
    robotDoes: "outputs open, the run ends or its process does",
    rearm: byRestart,
    ...cut,
    detectedBy: "chip: silence, or late answers before it",
  },
  {
    id: "out_of_memory",
    cause: "process out of memory by another thread",
    robotDoes: "outputs open, the process is gone",
    rearm: byRestart,
    ...cut,
    detectedBy: "chip: silence, or late answers before it",
  },
  {
    id: "gc_storm",
    cause: "a million objects die on the main thread",
    detectedBy: "nothing",
    robotDoes: "nothing changes",
    rearm: "nobody",
    ...noCut,
    withinMs: "–",
  },
  {
    id: "policy_crash",
    cause: "policy thread crashes",
    detectedBy: "its exit",
    robotDoes: "what was decided runs out, then SAFE_STOP",
    rearm: byRestart,
    ...noCut,
  },
  {
    id: "main_blocked",
    cause: "main thread blocked for 3 s",
    detectedBy: "`main_slow`",
    robotDoes: "nothing changes",
    rearm: "nobody",
    ...noCut,
  },
  {
    id: "disk_full",
    cause: "recorder's disk full",
    detectedBy: "their writer",
    robotDoes: "nothing changes; the run says so",
    rearm: "nobody",
    ...noCut,
  },
  {
    id: "sigterm",
    cause: "SIGTERM",
    detectedBy: "the main thread",
    withinMs: GOODBYE_MS_MAX,
    robotDoes: "stops, says goodbye; DISARMED by host_closed",
    armFalls: "yes",
    rearm: "nobody",
    expected: "goodbye",
  },
];
