// EstopWatch: the e-stop of a run as people see it: its mode and cause in words, its keys where it
// is emulated, and the goodbye at the end. It decides nothing: the chip and the supervisor do.

import { EstopMode, estopCauseNames, estopModeNames } from "../contracts/estop-codes.ts";
import { EstopStatusSlot } from "../contracts/estop-line.ts";
import type { RobotProfile } from "../contracts/profile.ts";
import { duration, NS_PER_S } from "../contracts/units.ts";
import type { Duration } from "../contracts/units.ts";
import type { Arena } from "../shm/arena.ts";
import { EstopWish } from "../shm/estop-wish.ts";
import { LatestReader } from "../shm/latest-cell.ts";
import { EstopProblem, estopProblemNames } from "../../safety/estop-link.ts";
import type { EstopEmulator } from "./estop-emulator.ts";
import type { EstopChoice } from "./run-options.ts";
import type { CueAnswer } from "./run-handle.ts";

/** A goodbye that isn't answered within this is left unsaid: the chip trips on silence instead. */
const LEAVE_MS_MAX = 500;
const LEAVE_POLL_MS = 10;

export class EstopWatch {
  readonly #choice: EstopChoice;
  readonly #note: (text: string) => void;
  readonly #status: LatestReader;
  readonly #wish: EstopWish;
  readonly #emulator: EstopEmulator | undefined;
  #told = "";
  #isResetDue: boolean;

  constructor(
    arena: Arena,
    choice: EstopChoice,
    emulator: EstopEmulator | undefined,
    note: (text: string) => void,
  ) {
    this.#choice = choice;
    this.#note = note;
    this.#status = new LatestReader(arena.cell("estop-status"));
    this.#wish = new EstopWish(arena.words("estop-wish"));
    this.#emulator = emulator;
    this.#isResetDue = choice.kind === "emulated" && choice.autoReset;
  }

  /** Looks at the chip's newest status, and tells what changed. */
  poll(): void {
    if (this.#choice.kind === "none") return;
    this.#status.take();
    const { text } = this;
    if (text === this.#told) return;
    this.#told = text;
    this.#note(`e-stop ${text}`);
    if (!this.isWaiting || !this.#isResetDue) return;
    this.#isResetDue = false;
    this.#note("e-stop: nobody is there to press its reset, so the run presses it this once");
    this.#emulator?.press("reset");
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
    const trouble = problem === EstopProblem.None ? "" : `, ${estopProblemNames[problem]}`;
    return `${kind}: ${isHeard ? `${mode}${by}` : "not heard yet"}${trouble}`;
  }

  /** Shown all run. */
  get warnings(): readonly string[] {
    if (this.#choice.kind !== "none") return [];
    return ["no independent e-stop: --estop emulated shows what one does"];
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
    if (this.#emulator === undefined) {
      return { accepted: false, text: "reset refused: press the reset button of the e-stop first" };
    }
    this.#emulator.press("reset");
    return { accepted: true, text: "e-stop reset pressed" };
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
      if (this.#mode === EstopMode.Disarmed || this.#mode === EstopMode.Tripped) return;
    }
  }

  get #mode(): number {
    return this.#status.record[EstopStatusSlot.mode]!;
  }
}

/** The shortest SS1-t in which every joint comes to rest from full speed. */
export function stopNsMinOf(robot: RobotProfile): Duration {
  const times = robot.joints.map(
    (joint) => joint.velocityRadPerSMax / joint.stop.accelerationRadPerS2,
  );
  return duration(Math.ceil(Math.max(0, ...times) * NS_PER_S + 2 * robot.periodNs));
}
