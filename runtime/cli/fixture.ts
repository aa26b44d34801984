// What the tests of this folder share: a run that only remembers what it was asked, an output that
// keeps what was written, and a context whose folders are the test's own.

import { afterAll } from "bun:test";
import { EventEmitter } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Mode } from "../contracts/mode.ts";
import { HOST_TIMES_SLOT_COUNT } from "../contracts/host-times.ts";
import { REASON_COUNT } from "../contracts/reason.ts";
import { TickSlot, tickSlotCount } from "../contracts/tick-record.ts";
import { RunStats } from "../record/run-stats.ts";
import type { CommandContext, StartRun } from "./command-context.ts";
import type { TextOut } from "./output.ts";
import type { RunReport } from "./report.ts";
import type { CueAnswer, RunHandle, RunStatus } from "./run-handle.ts";
import type { RunOptions } from "./run-options.ts";

/** A status in which every field has a value of its own. */
export const exampleStatus: RunStatus = {
  profile: "so101",
  task: "pick_place",
  policy: "expert",
  policyHost: "",
  timeModel: "streaming",
  mode: "RUNNING",
  reason: "ok",
  tick: 2_000,
  epoch: 2,
  sessionS: 10.04,
  rateAskedHz: 200,
  rateHz: 199.96,
  lateTicks: 3,
  missedTicks: 4,
  wakeUsP50: 12,
  wakeUsP99: 80,
  workUsP99: 30,
  sampleAgeMsP50: 2.6,
  faults: [],
  jointNames: ["pan", "lift"],
  measuredRad: [0.25, -1.5],
  commandRad: [0.3, -1.4],
  cause: "",
  causeS: Number.NaN,
  hint: "Follows expert",
  acts: ["stop"],
  warnings: [],
  estop: "emulated: ARMED",
  cutTime: "",
  taskSuccess: true,
  episodeCount: 3,
  isEpisodeUnderWay: true,
  successCount: 2,
};

/** A run that moves nothing. */
export class FakeRun implements RunHandle {
  /** What was asked, in order. */
  readonly asked: string[] = [];
  shown: RunStatus;
  picture: Uint8Array | undefined;
  isWilling = true;
  parks = false;
  readonly ended: Promise<void>;
  #end: () => void = () => undefined;

  constructor(status: Partial<RunStatus> = {}) {
    this.shown = { ...exampleStatus, ...status };
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  status(): RunStatus {
    return this.shown;
  }
  stop(): CueAnswer {
    return this.#answer("stop");
  }
  park(): CueAnswer {
    return this.#answer("park");
  }
  letGo(): boolean {
    if (this.parks) this.asked.push("letGo");
    return this.parks;
  }
  reset(): CueAnswer {
    return this.#answer("reset");
  }
  start(): CueAnswer {
    return this.#answer("start");
  }
  estop(): CueAnswer {
    return this.#answer("estop");
  }
  arm(): CueAnswer {
    return this.#answer("arm");
  }
  prooftest(): CueAnswer {
    return this.#answer("prooftest");
  }
  quit(): void {
    this.asked.push("quit");
    this.#end();
  }
  frame(): Promise<Uint8Array | undefined> {
    return Promise.resolve(this.picture);
  }

  #answer(name: string): CueAnswer {
    this.asked.push(name);
    return { accepted: this.isWilling, text: `${name} heard` };
  }
}

export class BufferOut implements TextOut {
  text = "";
  /** Whether all that was written went out. */
  isWhole = true;
  isTerminal = false;
  hasColour = false;
  columnCount = 80;

  write(text: string): void {
    this.text += text;
  }
  writeIfRoom(text: string): void {
    this.write(text);
  }
  flush(): Promise<boolean> {
    return Promise.resolve(this.isWhole);
  }
}

/** A terminal to type on. */
export class FakeTerminal extends EventEmitter {
  readonly modes: boolean[] = [];
  isPaused = true;

  setRawMode(isRaw: boolean): void {
    this.modes.push(isRaw);
  }
  resume(): void {
    this.isPaused = false;
  }
  pause(): void {
    this.isPaused = true;
  }
  type(text: string): void {
    this.emit("data", new TextEncoder().encode(text));
  }
}

export type FakeContext = CommandContext & {
  readonly out: BufferOut;
  readonly err: BufferOut;
  readonly signals: EventEmitter;
  readonly leftCode: number[];
};

/**
 * A new and empty folder, removed at the end of the test that asks for it, failed or not, or of the
 * file where none is under way. `bun test` never tells a process's own "exit".
 */
export function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "hf-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A user whose runtime folders are new: a test neither sees nor stops runs of a person. */
export function freshUser(): CommandContext["user"] {
  const folder = freshFolder();
  mkdirSync(join(folder, "root/tmp"), { recursive: true });
  const environment = { XDG_RUNTIME_DIR: folder };
  return { uid: process.getuid?.() ?? 0, environment, root: join(folder, "root") };
}

export function fakeContext(parts: Partial<CommandContext> = {}): FakeContext {
  const leftCode: number[] = [];
  return {
    user: parts.user ?? freshUser(),
    startRun: () => Promise.reject(new Error("no run was expected")),
    pid: process.pid,
    program: "holdfast",
    keyboard: undefined,
    leave: (code) => leftCode.push(code),
    exitWith: () => undefined,
    ...parts,
    out: new BufferOut(),
    err: new BufferOut(),
    signals: new EventEmitter(),
    leftCode,
  };
}

/** Starts `run` and ends when it is told to quit; `live` is called once it can be spoken to. */
export function startFake(run: FakeRun, live: () => void, mode: Mode = Mode.SafeStop): StartRun {
  return async (options, hooks) => {
    hooks.onHandle(run);
    live();
    await run.ended;
    return exampleReport(options, mode);
  };
}

/** A report of one tick that ended in this mode. */
export function exampleReport(options: RunOptions, mode: Mode): RunReport {
  const record = new Float64Array(tickSlotCount(options.plan.robot.joints.length));
  record[TickSlot.mode] = mode;
  const stats = new RunStats(record.length, options.plan.robot.supervisor.lateNsMax);
  stats.write(record);
  return {
    options,
    stats,
    hostTimes: new Float64Array(HOST_TIMES_SLOT_COUNT),
    policySafeTicks: new Float64Array(REASON_COUNT),
    policySafeEpisodes: new Float64Array(REASON_COUNT),
    policy: options.plan.policy,
    task: {
      name: options.plan.task.name,
      success: true,
      episodeCount: 1,
      isEpisodeUnderWay: false,
      successCount: 1,
    },
    traceHash: undefined,
    realtimeFactor: 1,
    warnings: [],
    failure: undefined,
    isSteered: false,
  };
}
