// The supervisor, explored breadth first: every distinct state that any run of inputs can reach, by
// mode, active faults, what the timers have come to, and relapses. Each way into each state is held
// to rules that know the inputs only. Time goes in coarse steps, so that few of them reach a limit.
//
// The states close at some depth, or the search ends twelve steps deep; both are said.

import { expect, test } from "bun:test";
import { Mode, OperatorCue, modeNames } from "../runtime/contracts/mode.ts";
import { Reason } from "../runtime/contracts/reason.ts";
import { instant, milliseconds } from "../runtime/contracts/units.ts";
import { Fault, faultMask, faultRows } from "../safety/faults.ts";
import { testProfile } from "../safety/fixture.ts";
import { CUE_COUNT, Cue, nextMode } from "../safety/supervisor-table.ts";
import { Supervisor } from "../safety/supervisor.ts";
import { isLong, noteFigure } from "./figures.ts";

const DEPTH_MAX = isLong ? 12 : 6;
const STEP_NS = milliseconds(250);
const STATES_MAX = 2_000_000;
/** No timer of the profile below is longer; beyond it a held fault is held. */
const TIMER_NS_MAX = 4 * STEP_NS;

/** A quarter of the shipped times: two steps, one step, four steps, and eight to relapse in. */
const limits: Partial<ReturnType<typeof testProfile>["supervisor"]> = {
  noActionPersistNs: milliseconds(500),
  staleStatePersistNs: milliseconds(250),
  startTimeoutNs: milliseconds(1_000),
  relapseWindowNs: milliseconds(2_000),
};

/** What the world does in a step, one of each kind of row, and a stop cue of another thread. */
type World = { readonly reason: Reason; readonly gate: number; readonly raises: readonly Fault[] };
const ok = { reason: Reason.Ok, gate: 0, raises: [] };
const worlds: readonly World[] = [
  ok,
  { ...ok, reason: Reason.NoAction },
  { ...ok, reason: Reason.StaleState },
  { ...ok, gate: 1 << Fault.FollowingError },
  { ...ok, raises: [Fault.ControlLate] },
  { ...ok, raises: [Fault.PolicySlow] },
  { ...ok, raises: [Fault.MainSlow] },
  { ...ok, raises: [Fault.DriverLost] },
  { ...ok, raises: [Fault.ControlAway] },
  { ...ok, raises: [Fault.EstopOpen] },
  { ...ok, reason: Reason.StaleState, gate: 1 << Fault.WorldLate },
];
const { Stop, Reset, Start } = OperatorCue;
const acts: readonly (readonly OperatorCue[])[] = [
  ...[[], [Stop], [Reset], [Start], [Reset, Start]],
  ...[
    [Stop, Reset],
    [Reset, Stop, Start],
  ],
];
const INPUT_COUNT = worlds.length * acts.length;

const moves = (mode: number): boolean => mode === Mode.Running || mode === Mode.Degraded;
/** Faults whose duration ever decides anything. */
const timed = faultRows
  .filter((row) => row.persist !== "never" && row.severity !== "latch")
  .map((row) => row.fault);
const motionless = faultMask((row) => row.motion === "none");

/** What the inputs alone allow: a person's acts still owed before anything may move. */
class Ledger {
  owesReset = false;
  owesStart = true;
  driverLost = false;
  /** Nothing but a missing decision since the start, which has a patience of its own. */
  awaitsFirst = false;

  /** Notes a step's inputs, once the supervisor has made the step. */
  note(input: number, before: number, { activeFaults, mode: after, started }: Supervisor): void {
    const isMissing = (activeFaults & (1 << Fault.NoAction)) !== 0;
    this.awaitsFirst = started || (this.awaitsFirst && isMissing);
    const act = acts[input % acts.length]!;
    this.driverLost ||= worlds[Math.floor(input / acts.length)]!.raises.includes(Fault.DriverLost);
    const stands = before === Mode.SafeStop || before === Mode.FaultLatched;
    if (act.includes(Reset) && stands) this.owesReset = false;
    else if (act.includes(Start) && !this.owesReset) this.owesStart = false;
    if (act.includes(Stop) || after === Mode.SafeStop || after === Mode.FaultLatched) {
      this.owesReset = true;
      this.owesStart = true;
    }
  }
}

function begin(): Supervisor {
  const profile = testProfile();
  return new Supervisor({ ...profile, supervisor: { ...profile.supervisor, ...limits } });
}

function step(supervisor: Supervisor, input: number, tick: number): void {
  const world = worlds[Math.floor(input / acts.length)]!;
  const nowNs = instant(tick * STEP_NS);
  for (const cue of acts[input % acts.length]!) supervisor.cue(cue, nowNs);
  for (const fault of world.raises) supervisor.raise(fault);
  const reason = supervisor.stopRequested ? Reason.Stop : world.reason;
  supervisor.step(reason, world.gate, nowNs);
}

/** All that decides what the supervisor does next, as far as the timers matter. */
function keyOf(supervisor: Supervisor, ledger: Ledger): string {
  const timers = timed.map((fault) => Math.min(supervisor.heldNs(fault), TIMER_NS_MAX));
  const { activeFaults, mode, relapses, remembersStart } = supervisor;
  const owed = [ledger.owesReset, ledger.owesStart, ledger.driverLost, ledger.awaitsFirst];
  return [mode, activeFaults, Math.min(relapses, 3), remembersStart, ...owed, ...timers].join();
}

/** The rules, over one step. Each names what it found. */
function judge(supervisor: Supervisor, input: number, before: number, ledger: Ledger): string[] {
  const { activeFaults, allowsMotion, epochRaised, mode, started, stopRequested } = supervisor;
  const broken: string[] = [];
  const rule = (fact: boolean, name: string) => fact || broken.push(name);
  rule(!moves(mode) || !(ledger.owesReset || ledger.owesStart), "moves without a person's acts");
  rule(!ledger.driverLost || !moves(mode), "moves after a driver was lost");
  rule(!acts[input % acts.length]!.includes(Stop) || !moves(mode), "moves in the step of a stop");
  rule(!stopRequested || !moves(mode), "moves while a stop stands");
  const { raises, gate } = worlds[Math.floor(input / acts.length)]!;
  rule(!raises.includes(Fault.ControlAway) || !moves(mode), "moves after the world was lost");
  const isOpen = raises.includes(Fault.EstopOpen);
  rule(!isOpen || mode === Mode.FaultLatched, "does not latch while the e-stop is open");
  const isLate = (gate & (1 << Fault.WorldLate)) !== 0;
  rule(!isLate || !allowsMotion, "allows motion in a late world");
  const isStopped = acts[input % acts.length]!.includes(Stop);
  rule(!isLate || isStopped || !moves(before) || moves(mode), "stops for a late world");
  rule(!allowsMotion || (moves(mode) && (activeFaults & motionless) === 0), "allows motion");
  const stops = mode === Mode.SafeStop || mode === Mode.FaultLatched;
  rule(!(moves(before) && stops) || epochRaised, "stops without voiding decisions");
  rule(!(!moves(before) && moves(mode)) || (started && epochRaised), "starts on old decisions");
  rule(before !== Mode.FaultLatched || !moves(mode), "leaves the latch for motion in one step");
  return broken;
}

/** Every change of mode of the table. A relapse follows a stop. */
function changesOfTable(): string[] {
  const changes = new Set<string>();
  for (const from of Object.values(Mode)) {
    for (const cue of Object.values(Cue)) {
      const to = nextMode[from * CUE_COUNT + cue]!;
      const isRaised = cue !== Cue.Relapse || from === Mode.SafeStop;
      if (isRaised && to !== from) changes.add(`${modeNames[from]} ${modeNames[to]}`);
    }
  }
  return [...changes].sort();
}

test(
  "no run of inputs breaks a rule, and every change of the table is met",
  () => {
    const seen = new Set<string>();
    const changes = new Set<string>();
    const pairs = new Set<string>();
    let layer: Uint8Array[] = [new Uint8Array()];
    let depth = 0;
    for (; depth < DEPTH_MAX && layer.length > 0 && seen.size < STATES_MAX; depth += 1) {
      const next: Uint8Array[] = [];
      for (const run of layer) {
        for (let input = 0; input < INPUT_COUNT; input += 1) {
          const supervisor = begin();
          const ledger = new Ledger();
          for (const [tick, past] of run.entries()) {
            const before = supervisor.mode;
            step(supervisor, past, tick);
            ledger.note(past, before, supervisor);
          }
          const before = supervisor.mode;
          const walked = supervisor.pathLength;
          step(supervisor, input, run.length);
          ledger.note(input, before, supervisor);
          const broken = judge(supervisor, input, before, ledger);
          if (broken.length > 0)
            throw new Error(`${broken.join(", ")}: ${[...run, input].join(" ")}`);
          pairs.add(`${before} ${input}`);
          for (let at = walked; at < supervisor.pathLength; at += 1) {
            const [from, to] = [supervisor.path[at - 1]!, supervisor.path[at]!];
            changes.add(`${modeNames[from as Mode]} ${modeNames[to as Mode]}`);
          }
          const key = keyOf(supervisor, ledger);
          if (seen.has(key)) continue;
          seen.add(key);
          next.push(Uint8Array.of(...run, input));
        }
      }
      layer = next;
    }
    noteFigure({
      part: "supervisor explored",
      case: layer.length === 0 ? `closed ${depth} steps deep` : `${depth} steps deep, not closed`,
      measured: `${seen.size} states, ${pairs.size} pairs of mode and input, 0 broken rules`,
      limit: "no rule broken, every change of mode met",
      tries: `${INPUT_COUNT} inputs a state`,
    });
    expect([...changes].sort()).toEqual(changesOfTable());
    expect(pairs.size).toBe(Object.values(Mode).length * INPUT_COUNT);
  },
  isLong ? 3_600_000 : 600_000,
);
