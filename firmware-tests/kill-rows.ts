// The kill matrix as data: what ends or hangs which part of the program, and what must come of it
// with the e-stop armed. `kill-matrix.test.ts` proves each row with the whole program and the
// emulated board; the loss table of safety/README.md tells the same.

export type KillRow = {
  readonly id: string;
  readonly cause: string;
  readonly detectedBy: string;
  readonly within: string;
  readonly robotDoes: string;
  /** Whether an arm falls for which a cut is not safe. */
  readonly armFalls: string;
  readonly rearm: string;
  /** What the chip does with its outputs: cuts on silence, nothing, or opens on a goodbye. */
  readonly expected: "cut" | "no cut" | "goodbye";
};

type Cells = readonly [string, string, string, string, string, string, string, KillRow["expected"]];

const silence = "chip: silence";
const cutTime = "T_wd + 1 ms of chip time";
const again = "a person: e-stop reset after its proof test, then reset and start";
const anew = "a person, after a restart";

// biome-ignore format: the columns are the point
const table: readonly Cells[] = [
  // id                  cause                              detected by       within                       robot does                                   arm falls  who re-arms  expected
  ["sigkill",            "process killed",                  silence,          cutTime,                     "outputs open",                              "yes",     anew,        "cut"],
  ["sigstop",            "process stopped, and going on",   silence,          cutTime,                     "outputs open; latches once it goes on",     "yes",     again,       "cut"],
  ["native_crash",       "native code crashes",             silence,          cutTime,                     "outputs open",                              "yes",     anew,        "cut"],
  ["control_thrown",     "control thread throws",           silence,          cutTime,                     "outputs open, the run ends",                "yes",     anew,        "cut"],
  ["control_hung",       "control thread loops for ever",   silence,          cutTime,                     "outputs open, the run ends",                "yes",     anew,        "cut"],
  ["control_terminated", "control thread ends unseen",      silence,          cutTime,                     "outputs open, the run ends",                "yes",     anew,        "cut"],
  ["main_blocked",       "main thread blocked for 3 s",     "`main_slow`",    "its alive check",           "nothing changes",                           "no",      "nobody",    "no cut"],
  ["gc_storm",           "a million objects die on main",   "nothing",        "never",                     "nothing changes",                           "no",      "nobody",    "no cut"],
  ["policy_crash",       "policy thread crashes",           "`policy_lost`",  "its exit",                  "what was decided runs out, then SAFE_STOP", "no",      anew,        "no cut"],
  ["disk_full",          "records can't be written",        "the writer",     "the write",                 "nothing changes; the run says so",          "no",      "nobody",    "no cut"],
  ["sigterm",            "SIGTERM",                         "main",           "at rest, then one answer",  "stops, says goodbye; DISARMED",             "yes",     "nobody",    "goodbye"],
];

export const KILL_ROWS: readonly KillRow[] = table.map((cells) => {
  const [id, cause, detectedBy, within, robotDoes, armFalls, rearm, expected] = cells;
  return { id, cause, detectedBy, within, robotDoes, armFalls, rearm, expected };
});
