// Supervisor: which mode the robot is in, and whether it may move. Each tick it recomputes the
// active faults, measures how long they last, and gives its table one cue after another, the
// least dangerous first, so that danger has the last word.
//
// It commands nothing and reads no clock. A reset never starts motion; a start never answers a
// fault; only a person leaves SAFE_STOP and FAULT_LATCHED. The core reads the effects off the mode.

import { assert } from "../runtime/contracts/assert.ts";
import { mayMove, Mode, OperatorCue } from "../runtime/contracts/mode.ts";
import type { RobotProfile } from "../runtime/contracts/profile.ts";
import { Reason } from "../runtime/contracts/reason.ts";
import { TickSignature } from "../runtime/contracts/tick-signature.ts";
import { NS_PER_MS } from "../runtime/contracts/units.ts";
import type { Instant } from "../runtime/contracts/units.ts";
import { countsAtRest, disobedienceMask, FAULT_COUNT, Fault, faultMask } from "./faults.ts";
import { faultOfReason, faultRows, powerlessMask } from "./faults.ts";
import type { FaultRow } from "./faults.ts";
import { CUE_COUNT, Cue, nextMode } from "./supervisor-table.ts";

/**
 * How fast a lasting fault is forgiven, against how fast it counts. At one half, a fault that
 * flickers but is there more than a third of the time still reaches its limit.
 */
export const REFILL_RATIO = 0.5;

/**
 * The patience of SAFE_STOP before a fault that stays latches. The robot is at rest by then, so
 * a bus that needs half a second to come back should not cost a latch.
 */
export const SAFE_STOP_PATIENCE_NS = 500 * NS_PER_MS;

/**
 * How long after a start the first decision may take. A policy that thinks for 300 ms still owes an
 * answer to the epoch before, so its first one takes twice that; the robot stands meanwhile.
 */
export const FIRST_DECISION_NS = 1_000 * NS_PER_MS;

/** Mode changes kept for the report; further ones are counted. A change is at most one a tick. */
export const PATH_LENGTH_MAX = 1_024;

const SUPERVISE_TOKEN = 0xf208_3eb4;
const NO_FAULT = -1;
const stopBit = 1 << Fault.OperatorStop;
const warningMask = faultMask((row) => row.severity === "warning");
const latchMask = faultMask((row) => row.severity === "latch");
const stopMask = faultMask((row) => row.severity === "stop");
const motionlessMask = faultMask((row) => row.motion === "none");
const reducedMask = faultMask((row) => row.motion === "reduced");
const keptMask = faultMask((row) => row.clear !== "whenClear");
const resetMask = faultMask((row) => row.clear === "onOperator");
const stillMask = faultMask(countsAtRest);
/** Faults that latch when they stay in SAFE_STOP. A remembered one is a memory, not a condition. */
const stayMask = faultMask((row) => row.severity === "stop" && row.clear === "whenClear");
/** Faults that a person ends in their own time: STARTING waits for them without a limit. */
const patientMask = faultMask((row) => row.persist === "never");
const allMask = faultMask(() => true);
/** The world was lost meanwhile: even STARTING does not go on from there by itself. */
const lostMask = (1 << Fault.Suspended) | (1 << Fault.ControlAway);
const worldBit = 1 << Fault.WorldLate;
const estopBit = 1 << Fault.EstopOpen;
const noActionBit = 1 << Fault.NoAction;

function persistNsOf(row: FaultRow, profile: RobotProfile): number {
  switch (row.persist) {
    case "at_once":
      return 0;
    case "no_action":
      return profile.supervisor.noActionPersistNs;
    case "stale":
      return profile.supervisor.staleStatePersistNs;
    case "never":
      return Number.POSITIVE_INFINITY;
  }
}

export class Supervisor {
  /** Modes visited, the first one included; `pathLength` of them are set. */
  readonly path = new Uint8Array(PATH_LENGTH_MAX);
  pathLength = 0;
  pathDropped = 0;
  /** Resets that an active fault refused. */
  refusedResets = 0;
  /** Starts that came where a start cannot count. */
  refusedStarts = 0;

  readonly #signature: TickSignature;
  readonly #persistNs: Float64Array;
  readonly #heldNs = new Float64Array(FAULT_COUNT);
  readonly #startTimeoutNs: number;
  readonly #relapseWindowNs: number;
  readonly #relapsesNs: Float64Array;
  #relapseCount = 0;
  #mode: Mode;
  #stepped = false;
  #nowNs = 0;
  #completeNs = 0;
  #reason: Reason = Reason.Ok;
  #active = 0;
  #raised = 0;
  #kept = 0;
  #stopEdge = false;
  #resetEdge = false;
  #startEdge = false;
  #startWanted = false;
  #epochRaised = false;
  #started = false;
  /** A person has started it, and no tick since then had another reason than no_action. */
  #awaitsFirst = false;
  #latchedBy: Fault | -1 = NO_FAULT;

  constructor(profile: RobotProfile, signature = new TickSignature()) {
    this.#signature = signature;
    const { relapseCount, relapseWindowNs, startTimeoutNs, startsIn } = profile.supervisor;
    assert(Number.isSafeInteger(relapseCount) && relapseCount > 0, "relapses are counted from 1");
    assert(startTimeoutNs > 0, "the start timeout is a length of time");
    this.#persistNs = Float64Array.from(faultRows, (row) => persistNsOf(row, profile));
    this.#startTimeoutNs = startTimeoutNs;
    this.#relapseWindowNs = relapseWindowNs;
    this.#relapsesNs = new Float64Array(relapseCount);
    this.#mode = Mode[startsIn];
    this.#remember(this.#mode);
  }

  get mode(): Mode {
    return this.#mode;
  }
  /** The mode may move, and no active fault forbids it. The tick's own reason must be Ok too. */
  get allowsMotion(): boolean {
    return mayMove(this.#mode) && (this.#active & motionlessMask) === 0;
  }
  /** A fault leaves the robot only reduced motion. */
  get reducesMotion(): boolean {
    return (this.#active & reducedMask) !== 0;
  }
  /** A stop or a shutdown that nobody has reset. True from the cue on, before the next step. */
  get stopRequested(): boolean {
    return (this.#kept & stopBit) !== 0;
  }
  /** This step entered a stop, or RUNNING by a start: everything decided before is void. */
  get epochRaised(): boolean {
    return this.#epochRaised;
  }
  /** This step entered RUNNING by a start: the gate re-arms. */
  get started(): boolean {
    return this.#started;
  }
  /** The e-stop holds the power off: where the robot is, only gravity and hands decide. */
  get powerless(): boolean {
    return (this.#active & powerlessMask) !== 0;
  }
  /** Bit per active fault, in the order of the fault table. */
  get activeFaults(): number {
    return this.#active;
  }
  /** The fault behind the latch; -1 when nothing is latched. */
  get latchedBy(): Fault | -1 {
    return this.#latchedBy;
  }

  /** Latched by a fault that says that the robot doesn't do what it is told. */
  get wantsCut(): boolean {
    return this.#latchedBy !== NO_FAULT && (disobedienceMask & (1 << this.#latchedBy)) !== 0;
  }

  /** How long a fault has lasted in this phase, less what was forgiven. */
  heldNs(fault: Fault): number {
    assert(fault >= 0 && fault < FAULT_COUNT, "the fault has a row");
    return this.#heldNs[fault]!;
  }
  /** Stops by faults since a person last looked at a latch. */
  get relapses(): number {
    return this.#relapseCount;
  }
  /** STARTING remembers a start until nothing is missing. */
  get remembersStart(): boolean {
    return this.#mode === Mode.Starting && this.#startWanted;
  }

  /** Takes an edge for the next step. A stop is known at once, so this tick's reason can be it. */
  cue(cue: OperatorCue, nowNs: Instant): void {
    assert(cue >= OperatorCue.None && cue <= OperatorCue.Park, "the cue is known");
    assert(!this.#stepped || nowNs >= this.#nowNs, "a cue comes after the last step");
    if (cue === OperatorCue.Stop || cue === OperatorCue.Shutdown || cue === OperatorCue.Park) {
      this.#stopEdge = true;
      this.raise(Fault.OperatorStop);
    } else if (cue === OperatorCue.Reset) this.#resetEdge = true;
    else if (cue === OperatorCue.Start) this.#startEdge = true;
    else if (cue === OperatorCue.DriverLost) this.raise(Fault.DriverLost);
    else if (cue === OperatorCue.PolicyLost) this.raise(Fault.PolicyLost);
    else if (cue === OperatorCue.MainSlow) this.raise(Fault.MainSlow);
  }

  /** A condition another part found true in this tick. Rows that a person clears are kept. */
  raise(fault: Fault): void {
    assert(fault >= 0 && fault < FAULT_COUNT, "the fault has a row");
    const bit = 1 << fault;
    if ((bit & keptMask) === 0) this.#raised |= bit;
    else this.#kept |= bit;
    assert(((this.#raised | this.#kept) & bit) !== 0, "what was raised waits for the next step");
  }

  /**
   * One tick. `gateFaults` has a bit per fault that gate or core saw in it. A late world takes the
   * place of the stale state that it explains.
   */
  step(reason: Reason, gateFaults: number, nowNs: Instant): void {
    assert(!this.#stepped || nowNs >= this.#nowNs, "time never goes back");
    assert((gateFaults & ~allMask) === 0, "every gate fault has a row");
    if (!this.#stepped) this.#completeNs = nowNs;
    const elapsedNs = this.#stepped ? nowNs - this.#nowNs : 0;
    const before = this.#active;
    const isExplained = reason === Reason.StaleState && (gateFaults & worldBit) !== 0;
    const fault = isExplained ? Fault.WorldLate : faultOfReason[reason]!;
    this.#active = this.#kept | this.#raised | gateFaults | (fault < 0 ? 0 : 1 << fault);
    this.#stepped = true;
    this.#nowNs = nowNs;
    this.#reason = reason;
    this.#raised = 0;
    this.#epochRaised = false;
    this.#started = false;
    this.#countHeld(before, elapsedNs);
    if (this.#awaitsFirst && (this.#active & noActionBit) === 0) this.#firstWaitOver();
    // A start and a reset in one step: the start first, so that the two never add up to motion.
    this.#hearStart();
    this.#hearReset();
    this.#judgeFaults();
    this.#stopEdge = false;
    this.#signature.fold(SUPERVISE_TOKEN);
  }

  /** The time since the last step counts as that step found each fault; it is forgiven slower. */
  #countHeld(before: number, elapsedNs: number): void {
    const heldNs = this.#heldNs;
    for (let fault = 0; fault < FAULT_COUNT; fault += 1) {
      const there = (before & (1 << fault)) !== 0;
      const changeNs = there ? elapsedNs : -elapsedNs * REFILL_RATIO;
      heldNs[fault] = Math.max(0, heldNs[fault]! + changeNs);
    }
  }

  /** The first decision is there, and its wait is forgiven; or something else is wrong as well. */
  #firstWaitOver(): void {
    this.#awaitsFirst = false;
    if (this.#reason === Reason.Ok) this.#heldNs[Fault.NoAction] = 0;
  }

  #hearStart(): void {
    const edge = this.#startEdge;
    this.#startEdge = false;
    if (this.#mode === Mode.Starting) {
      // A start is remembered here: what is missing is on its way, and a person has asked already.
      this.#startWanted ||= edge;
      if (!this.#startWanted || !this.#complete()) return;
    } else if (!edge) {
      return;
    } else if (this.#mode !== Mode.Recover || (this.#active & stillMask) !== 0) {
      if (!mayMove(this.#mode)) this.refusedStarts += 1;
      return;
    }
    this.#apply(Cue.OperatorStart, NO_FAULT);
  }

  #hearReset(): void {
    const edge = this.#resetEdge;
    this.#resetEdge = false;
    if (!edge || (this.#mode !== Mode.SafeStop && this.#mode !== Mode.FaultLatched)) return;
    // A stop of this very step outlives the reset, whichever came first.
    if (this.#stopEdge || (this.#active & stillMask & ~resetMask) !== 0) {
      this.refusedResets += 1;
      return;
    }
    this.#kept &= ~resetMask;
    this.#active &= ~resetMask;
    this.#apply(Cue.OperatorReset, NO_FAULT);
  }

  /** Nothing that STARTING waits for is missing. */
  #complete(): boolean {
    return this.#reason === Reason.Ok && (this.#active & stillMask) === 0;
  }

  #judgeFaults(): void {
    const active = this.#active & ~warningMask;
    if ((active & estopBit) !== 0) {
      this.#apply(Cue.EstopOpen, Fault.EstopOpen);
    } else if ((active & latchMask) !== 0) {
      const cause = this.#worst(active & latchMask);
      this.#apply(Cue.FaultHeld, cause); // through SAFE_STOP where a mode may move
      this.#apply(Cue.FaultHeld, cause);
    } else if (this.#mode === Mode.Starting) {
      this.#judgeStarting();
    } else if (mayMove(this.#mode)) {
      this.#judgeMoving(active);
    } else if (this.#mode === Mode.SafeStop) {
      const cause = this.#worst(this.#held(active & stayMask, SAFE_STOP_PATIENCE_NS));
      if (cause !== NO_FAULT) this.#apply(Cue.FaultHeld, cause);
    } else {
      const still = active & stillMask;
      this.#apply(still === 0 ? Cue.Healthy : Cue.Fault, this.#worst(still));
    }
  }

  /** Missing things are "not yet" until the timeout; a person may take as long as they like. */
  #judgeStarting(): void {
    const active = this.#active & ~warningMask;
    const missing = active & stillMask & ~patientMask;
    if ((active & (stopBit | lostMask)) !== 0) {
      this.#apply(Cue.FaultHeld, this.#worst(active & (stopBit | lostMask)));
    } else if (this.#reason === Reason.Ok && missing === 0) {
      this.#completeNs = this.#nowNs;
    } else {
      const overdue = this.#nowNs - this.#completeNs >= this.#startTimeoutNs;
      this.#apply(overdue ? Cue.FaultHeld : Cue.Fault, this.#worst(active));
    }
  }

  #judgeMoving(active: number): void {
    const cause = this.#worst(this.#held(active, 0));
    if (cause === NO_FAULT) {
      this.#apply(active === 0 ? Cue.Healthy : Cue.Fault, this.#worst(active));
      return;
    }
    this.#apply(Cue.FaultHeld, cause);
    // A person may stop as often as they like.
    if (cause !== Fault.OperatorStop && this.#relapsed()) this.#apply(Cue.Relapse, cause);
  }

  /** Notes one more stop by a fault. True when too many lie within the window. */
  #relapsed(): boolean {
    const timesNs = this.#relapsesNs;
    const limit = timesNs.length;
    timesNs[this.#relapseCount % limit] = this.#nowNs;
    this.#relapseCount += 1;
    if (this.#relapseCount < limit) return false;
    return this.#nowNs - timesNs[this.#relapseCount % limit]! < this.#relapseWindowNs;
  }

  /** Of these faults, the ones that have lasted their limit in this phase. */
  #held(faults: number, patienceNs: number): number {
    let held = 0;
    for (let fault = 0; fault < FAULT_COUNT; fault += 1) {
      const bit = 1 << fault;
      if ((faults & bit) === 0) continue;
      const graceNs = this.#awaitsFirst && bit === noActionBit ? FIRST_DECISION_NS : 0;
      const limitNs = Math.max(this.#persistNs[fault]!, patienceNs, graceNs);
      if (this.#heldNs[fault]! >= limitNs) held |= bit;
    }
    return held;
  }

  /** The worst of these faults: by severity, then by the order of the table; -1 for none. */
  #worst(faults: number): Fault | -1 {
    const worst = faults & latchMask || faults & stopMask || faults;
    return (31 - Math.clz32(worst & -worst)) as Fault;
  }

  #apply(cue: Cue, cause: Fault | -1): void {
    const from = this.#mode;
    const to = nextMode[from * CUE_COUNT + cue] as Mode;
    if (to === from) return;
    this.#mode = to;
    this.#remember(to);
    // RUNNING and DEGRADED are one phase, so that a flickering fault keeps its time.
    if (!mayMove(from) || !mayMove(to)) this.#heldNs.fill(0);
    if (to === Mode.FaultLatched) this.#latchedBy = cause;
    if (from === Mode.FaultLatched) {
      this.#latchedBy = NO_FAULT;
      this.#relapseCount = 0; // a person has looked at it
    }
    if (to === Mode.Running && !mayMove(from)) {
      this.#started = true;
      this.#awaitsFirst = true;
    }
    const stopped = to === Mode.SafeStop || to === Mode.FaultLatched;
    if (this.#started || (stopped && from !== Mode.SafeStop)) this.#epochRaised = true;
  }

  #remember(mode: Mode): void {
    if (this.pathLength === PATH_LENGTH_MAX) {
      this.pathDropped += 1;
      return;
    }
    this.path[this.pathLength] = mode;
    this.pathLength += 1;
  }
}
