// EstopWatch: the e-stop of a run as people see it: its mode and cause in words, its keys where it
// is emulated, and the goodbye at the end. It decides nothing: the chip and the supervisor do.

import { EstopBuild, EstopMode, EstopOutput } from "../contracts/estop-codes.ts";
import { estopCauseNames, estopModeNames, estopVerdictNames } from "../contracts/estop-codes.ts";
import { EstopStatusSlot } from "../contracts/estop-line.ts";
import type { RobotProfile } from "../contracts/profile.ts";
import { duration, NS_PER_MS, NS_PER_S } from "../contracts/units.ts";
import type { Duration, Instant } from "../contracts/units.ts";
import type { Arena } from "../shm/arena.ts";
import { EstopWish } from "../shm/estop-wish.ts";
import { LatestReader } from "../shm/latest-cell.ts";
import { DEFAULT_STOP_MS, STOP_MS_MAX } from "../../drivers/estop/build-constants.ts";
import { BOARD_PROOF_TRIES_MAX, BOARD_SILENCE_NS_MAX } from "../../safety/estop-link.ts";
import { EstopProblem, estopProblemNames } from "../../safety/estop-link.ts";
import { BOARD_T_WD_MS, cutTimeText } from "./cut-time.ts";
import type { EstopEmulator } from "./estop-emulator.ts";
import type { EstopChoice, RunOptions } from "./run-options.ts";
import type { CueAnswer } from "./run-handle.ts";

/** A goodbye that isn't answered within this is left unsaid: the chip trips on silence instead. */
const LEAVE_MS_MAX = 500;
const LEAVE_POLL_MS = 10;

/** How long a board may be silent, and how often its proof test may fail in a row. */
export const BOARD_PATIENCE = {
  silenceNsMax: BOARD_SILENCE_NS_MAX,
  proofTryCountMax: BOARD_PROOF_TRIES_MAX,
} as const;
/**
 * An emulated board whose process is gone is known at once, by its line and its pipe; one that the
 * machine runs late is not dead, and its lateness spoils a proof test more often than noise does.
 */
export const EMULATED_PATIENCE = {
  silenceNsMax: duration(NS_PER_S),
  proofTryCountMax: 10,
} as const;
/** What is told all run of a board that takes a reset from the line, and from whoever types it. */
const BENCH_BUILD = "bench build: resets from the link";
/** A reset that the chip did not take is pressed anew after this. */
const PRESS_NS = NS_PER_S;

/** All that is asked of the emulator here. */
type EmulatorKeys = Pick<EstopEmulator, "press">;

/** What a poll is told of the run. */
export type EstopFacts = {
  readonly nowNs: Instant;
  /** Nothing has moved yet. */
  readonly isStarting: boolean;
  /** The robot's drives have power. */
  readonly isActive: boolean;
  /** The line by which they get it can't be believed any more. */
  readonly isEnableLost: boolean;
};

export class EstopWatch {
  readonly #choice: EstopChoice;
  readonly #waitsForStart: boolean;
  readonly #robot: RobotProfile;
  readonly #facts: () => EstopFacts;
  readonly #note: (text: string) => void;
  readonly #status: LatestReader;
  readonly #wish: EstopWish;
  readonly #emulator: EmulatorKeys | undefined;
  #told = "";
  #isActive = false;
  #isEnableLost = false;
  #isRemedyTold = false;
  /** When the run pressed the reset, and when first. */
  #pressedNs = Number.NEGATIVE_INFINITY;
  #firstPressNs = Number.POSITIVE_INFINITY;

  constructor(
    arena: Arena,
    options: Pick<RunOptions, "estop" | "plan" | "waitsForStart">,
    emulator: EmulatorKeys | undefined,
    facts: () => EstopFacts,
    note: (text: string) => void,
  ) {
    this.#choice = options.estop;
    this.#waitsForStart = options.waitsForStart;
    this.#robot = options.plan.robot;
    this.#facts = facts;
    this.#note = note;
    this.#status = new LatestReader(arena.cell("estop-status"));
    this.#wish = new EstopWish(arena.words("estop-wish"));
    this.#emulator = emulator;
  }

  /** Looks at the chip's newest status, and tells what changed. */
  poll(): void {
    if (this.#choice.kind === "none") return;
    this.#status.take();
    const facts = this.#facts();
    this.#isEnableLost = facts.isEnableLost;
    const { text } = this;
    if (text !== this.#told) this.#note(`e-stop ${text}`);
    this.#told = text;
    this.#tellRemedy();
    if (this.#choice.kind !== "emulated") return;
    if (facts.isActive !== this.#isActive) {
      this.#note(`e-stop emulated: drives ${facts.isActive ? "have power" : "lost power"}`);
    }
    this.#isActive = facts.isActive;
    if (this.#choice.autoReset && this.isWaiting) this.#pressAlone(facts);
  }

  /**
   * Nobody is there. Once after the proof test, and again while nothing has moved yet: a busy
   * machine may spoil a press, or trip the chip before the run begins.
   */
  #pressAlone({ nowNs, isStarting }: EstopFacts): void {
    const isFirst = this.#firstPressNs === Number.POSITIVE_INFINITY;
    const untilNs = this.#firstPressNs + this.#robot.supervisor.startTimeoutNs;
    const isDue = isFirst || (isStarting && nowNs - this.#pressedNs > PRESS_NS && nowNs < untilNs);
    if (!isDue) return;
    if (isFirst) this.#firstPressNs = nowNs;
    this.#pressedNs = nowNs;
    const why = isFirst
      ? "nobody is there to press its reset, so the run presses it this once"
      : "it is still open and nothing has moved, so the run presses its reset again";
    this.#note(`e-stop: ${why}`);
    this.#emulator?.press("reset");
  }

  /** What to do about a chip whose constants don't fit the robot. */
  #tellRemedy(): void {
    const { record } = this.#status;
    const isShort = record[EstopStatusSlot.problem] === EstopProblem.StopTooShort;
    if (!isShort || this.#isRemedyTold) return;
    this.#isRemedyTold = true;
    const needsMs = Math.ceil(stopNsMinOf(this.#robot) / NS_PER_MS);
    const { name } = this.#robot;
    this.#note(
      `e-stop: SS1-t of its firmware is ${record[EstopStatusSlot.stopMs]} ms, and ${name} needs ` +
        `${needsMs} ms to stop (v_max / a_stop and two periods), so it is never armed: ` +
        `make -C safety/firmware m328p STOP_MS=${needsMs}, then flash that image`,
    );
  }

  /** Mode and cause on one line. */
  get text(): string {
    const { kind } = this.#choice;
    if (kind === "none") return "none";
    const { record } = this.#status;
    const problem = record[EstopStatusSlot.problem]!;
    const mode = estopModeNames[record[EstopStatusSlot.mode]!] ?? "";
    const cause = record[EstopStatusSlot.cause]!;
    const isHeard = record[EstopStatusSlot.heard] === 1;
    const by = cause === 0 ? "" : ` by ${estopCauseNames[cause]}`;
    const isHeldOpen =
      record[EstopStatusSlot.mode] === EstopMode.Armed &&
      (record[EstopStatusSlot.outputs]! & EstopOutput.Both) !== EstopOutput.Both;
    const bad = estopVerdictNames[record[EstopStatusSlot.lastBad]!];
    const open = isHeldOpen ? `, outputs open: answers ${bad}` : "";
    const trouble = problem === EstopProblem.None ? "" : `, ${estopProblemNames[problem]}`;
    const enable = this.#isEnableLost ? ", enable line lost" : "";
    const said = isHeard ? `${mode}${by}` : "not heard yet";
    return `${kind}: ${said}${open}${trouble}${enable}${this.#oddities}`;
  }

  /** How long a silent host's robot has power yet, by the chip's own constants; empty unheard. */
  get cutTime(): string {
    const { record } = this.#status;
    if (record[EstopStatusSlot.heard] !== 1) return "";
    return cutTimeText(this.#robot, {
      silenceMs: record[EstopStatusSlot.silenceMs]!,
      cutDelayMs: record[EstopStatusSlot.cutDelayMs]!,
    });
  }

  /** What of a board's build weakens it, all run: a reset that needs no person, a long T_wd. */
  get #oddities(): string {
    if (this.#choice.kind !== "board") return "";
    const { record } = this.#status;
    const silenceMs = record[EstopStatusSlot.silenceMs]!;
    const slow = silenceMs > BOARD_T_WD_MS ? `, T_wd ${silenceMs} ms` : "";
    return `${this.#isBench ? `, ${BENCH_BUILD}` : ""}${slow}`;
  }

  /** Shown all run. */
  get warnings(): readonly string[] {
    if (this.#choice.kind !== "none") return [];
    return ["no independent e-stop: --estop emulated shows what one does"];
  }

  /** What only a new run brings back, in words; empty while nothing is lost. */
  get lost(): string {
    if (this.#isEnableLost) return "the e-stop's enable line is lost";
    const isGone = this.#problem === EstopProblem.Gone;
    return isGone ? "the e-stop's line is gone" : "";
  }

  /** The proof test is over, and a person's reset is all that is missing. */
  get isWaiting(): boolean {
    return this.#mode === EstopMode.WaitReset;
  }

  /** Presses the emulated button; there is none to press on a board from here. */
  pressButton(): CueAnswer {
    if (this.#emulator === undefined) {
      return { accepted: false, text: "e-stop refused: only an emulated button has a key" };
    }
    this.#emulator.press("button");
    return { accepted: true, text: "e-stop button pressed" };
  }

  /** Presses the reset that the chip waits for; undefined when it waits for none. */
  pressReset(): CueAnswer | undefined {
    if (!this.isWaiting) return undefined;
    const begins = this.#facts().isStarting && !this.#waitsForStart;
    const next = begins ? ": the run begins once it is armed" : "";
    if (this.#emulator !== undefined) {
      this.#emulator.press("reset");
      return { accepted: true, text: `e-stop reset pressed${next}` };
    }
    if (!this.#isBench) {
      return { accepted: false, text: "reset refused: press the reset button of the e-stop first" };
    }
    if (this.#problem !== EstopProblem.None) {
      return { accepted: false, text: `reset refused: e-stop ${this.text}` };
    }
    this.#wish.reset();
    return { accepted: true, text: `e-stop reset sent, as its bench build takes it${next}` };
  }

  /** Why there is nothing to reset. */
  get refusal(): CueAnswer {
    return { accepted: false, text: `arm refused: no reset is waited for, e-stop ${this.text}` };
  }

  /** A person wants the proof test that failed to be tried again. */
  proveAgain(): CueAnswer {
    if (this.#choice.kind === "none") {
      return { accepted: false, text: "prooftest refused: the run has no e-stop" };
    }
    if (this.#mode === EstopMode.Armed) {
      return { accepted: false, text: "prooftest refused: the e-stop is armed, open it first" };
    }
    if (this.#mode === EstopMode.WaitReset && this.#problem === EstopProblem.ProofEcho) {
      const why = "the e-stop believes that it has passed";
      return {
        accepted: false,
        text: `prooftest refused: ${why}; press its button, then ask anew`,
      };
    }
    if (this.#status.record[EstopStatusSlot.heard] !== 1 || this.lost !== "") {
      return { accepted: false, text: `prooftest refused: nobody to ask, e-stop ${this.text}` };
    }
    this.#wish.prove();
    return { accepted: true, text: "proof test asked" };
  }

  /** Says goodbye while ticks still answer, and waits until the chip has opened its outputs. */
  async leave(): Promise<void> {
    if (this.#choice.kind === "none") return;
    this.#wish.leave();
    for (let waitedMs = 0; waitedMs < LEAVE_MS_MAX; waitedMs += LEAVE_POLL_MS) {
      await Bun.sleep(LEAVE_POLL_MS);
      this.poll();
      const isOpen = this.#mode === EstopMode.Disarmed || this.#mode === EstopMode.Tripped;
      if (isOpen && !this.#isActive) return;
    }
  }

  /** Its reset can be pressed at this run: an emulated one's, or that of a bench build. */
  get armsFromHere(): boolean {
    return this.#choice.kind === "emulated" || this.#isBench;
  }

  get #isBench(): boolean {
    return (this.#status.record[EstopStatusSlot.build]! & EstopBuild.ResetFromLink) !== 0;
  }

  get #problem(): number {
    return this.#status.record[EstopStatusSlot.problem]!;
  }

  get #mode(): number {
    return this.#status.record[EstopStatusSlot.mode]!;
  }
}

/** The SS1-t with which a board is emulated for a robot: the default, or longer if it must be. */
export function emulatedStopMs(stopNsMin: Duration): number {
  return Math.min(STOP_MS_MAX, Math.max(DEFAULT_STOP_MS, Math.ceil(stopNsMin / NS_PER_MS)));
}

/** The shortest SS1-t in which every joint comes to rest from full speed. */
export function stopNsMinOf(robot: RobotProfile): Duration {
  const times = robot.joints.map(
    (joint) => joint.velocityRadPerSMax / joint.stop.accelerationRadPerS2,
  );
  return duration(Math.ceil(Math.max(0, ...times) * NS_PER_S + 2 * robot.periodNs));
}
