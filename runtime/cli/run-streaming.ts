// A streaming run: the threads of `compose.ts` in real time. This thread only watches: it drains
// the records, tells people what happens, hands on their cues, and stops everything under control.

import { Mode, OperatorCue } from "../contracts/mode.ts";
import { EvidenceSlot, EVIDENCE_SLOT_COUNT } from "../contracts/evidence.ts";
import type { Evidence } from "../contracts/evidence.ts";
import { TickSlot, tickSlotCount } from "../contracts/tick-record.ts";
import { LifecycleState } from "../../hal/robot.ts";
import { encodeJpeg } from "../../hal/jpeg.ts";
import { StreamingThreads } from "../compose.ts";
import type { StartReport } from "../compose.ts";
import { AskWord } from "../shm/ask-word.ts";
import { ThreadSlot } from "../shm/control-words.ts";
import { ImageReader } from "../shm/image-slots.ts";
import { LatestReader } from "../shm/latest-cell.ts";
import { RingReader } from "../shm/spsc-ring.ts";
import { policyKind } from "../policy/policy-kind.ts";
import { policyStatusOf } from "../workers/policy-status.ts";
import { layoutOf, PictureSlot, RobotStatusSlot } from "../workers/plan.ts";
import { SupplyTrouble } from "../workers/supply.ts";
import { SystemClock } from "../workers/system-clock.ts";
import { duration } from "../contracts/units.ts";
import { EstopEmulator } from "./estop-emulator.ts";
import { BOARD_PATIENCE, EMULATED_PATIENCE, emulatedStopMs, EstopWatch } from "./estop-watch.ts";
import { stopNsMinOf } from "./estop-watch.ts";
import type { EstopFacts } from "./estop-watch.ts";
import { FlightWatch } from "./flight-watch.ts";
import { NoteLimit } from "./note-limit.ts";
import { printable } from "./output.ts";
import { realtimeWarnings } from "./realtime.ts";
import { RestWatch } from "./rest-watch.ts";
import type { RunReport } from "./report.ts";
import type { CueAnswer, RunHandle } from "./run-handle.ts";
import type { RunHooks } from "./run-hooks.ts";
import type { RunOptions } from "./run-options.ts";
import { RunWatch } from "./run-watch.ts";

/** How often the records are drained: far more often than their rings fill. */
const POLL_MS = 20;
/** Looks of this thread without a new tick after which control is hung: two seconds of looking. */
const TICKLESS_POLLS_MAX = 100;
const JPEG_QUALITY_PERCENT = 80;

/** How long loading may go on once the end is asked for. */
const LOAD_MS_PATIENCE = 5_000;
/** And how long a policy's host is waited for then. */
const HOST_MS_PATIENCE = 500;

const LOADING = "loading physics and threads: this takes some seconds";

/** Undefined when the end was asked for before the run began. */
export async function runStreaming(
  options: RunOptions,
  hooks: RunHooks,
): Promise<RunReport | undefined> {
  const { estop } = options;
  const isEmulated = estop.kind === "emulated";
  const stopNsMin = stopNsMinOf(options.plan.robot);
  const emulator = isEmulated ? await EstopEmulator.start(emulatedStopMs(stopNsMin)) : undefined;
  const path = estop.kind === "board" ? estop.path : emulator?.path;
  const enablePath = emulator?.enablePath;
  const patience = isEmulated ? EMULATED_PATIENCE : BOARD_PATIENCE;
  const key = estop.kind === "board" ? estop.key : undefined;
  const opened = path === undefined ? undefined : { path, enablePath, stopNsMin, key, ...patience };
  const plan = { ...options.plan, estop: opened };
  try {
    return await new StreamingRun({ ...options, plan }, hooks, emulator).go();
  } finally {
    emulator?.close();
  }
}

class StreamingRun {
  readonly #options: RunOptions;
  readonly #hooks: RunHooks;
  readonly #threads: StreamingThreads;
  readonly #notes: NoteLimit;
  readonly #watch: RunWatch;
  readonly #ticks: RingReader;
  readonly #tick: Float64Array;
  readonly #evidence: RingReader;
  readonly #evidenceEntry = new Float64Array(EVIDENCE_SLOT_COUNT);
  #hasEvidenceEntry = false;
  readonly #robotStatus: LatestReader;
  readonly #policyStatus: LatestReader;
  readonly #picture: LatestReader;
  readonly #pictures: ImageReader;
  readonly #ask: AskWord;
  readonly #clock: SystemClock;
  readonly #estop: EstopWatch;
  #lastJpeg: Promise<Uint8Array | undefined> = Promise.resolve(undefined);
  #pictureNs = -1;
  readonly #flight: FlightWatch;
  #failure: string | undefined;
  readonly #rest: RestWatch;
  #ticklessPolls = 0;
  #quitAsked = false;
  /** When the run ends by itself. */
  #endNs = Infinity;
  #end: () => void = () => undefined;

  constructor(options: RunOptions, hooks: RunHooks, emulator: EstopEmulator | undefined) {
    const { plan } = options;
    this.#options = options;
    this.#hooks = hooks;
    this.#rest = new RestWatch(plan.robot);
    this.#notes = new NoteLimit((text) => hooks.note(text));
    this.#threads = new StreamingThreads(plan, (text) => this.#tell(text));
    const { arena, origin } = this.#threads;
    const size = tickSlotCount(layoutOf(plan).jointCount);
    this.#watch = new RunWatch(options, hooks, () => this.#task());
    this.#ticks = new RingReader(arena.ring("ticks"));
    this.#tick = new Float64Array(size);
    this.#flight = new FlightWatch(options, (text) => hooks.note(text));
    this.#evidence = new RingReader(arena.ring("evidence"));
    this.#robotStatus = new LatestReader(arena.cell("robot-status"));
    this.#policyStatus = new LatestReader(arena.cell("policy-status"));
    this.#picture = new LatestReader(arena.cell("picture"));
    this.#pictures = new ImageReader(arena.images("pictures"));
    this.#ask = new AskWord(arena.words("camera-ask"));
    this.#clock = new SystemClock(origin, duration(0), { stopped: false });
    this.#estop = new EstopWatch(
      arena,
      options,
      emulator,
      () => this.#estopFacts(),
      (text) => hooks.note(text),
    );
  }

  /** Undefined when the end was asked for and loading went on: a policy's module may never end. */
  async #start(): Promise<StartReport | undefined> {
    const started = this.#threads.start();
    try {
      return await Promise.race([started, this.#impatience()]);
    } catch (error) {
      await this.#threads.stop();
      throw error;
    } finally {
      started.catch(() => undefined); // settled by the race already
    }
  }

  async #impatience(): Promise<undefined> {
    await this.#hooks.endAsked;
    const isHosted = policyKind(this.#options.plan.policy) === "remote";
    for (let waitedMs = 0; waitedMs < LOAD_MS_PATIENCE; waitedMs += HOST_MS_PATIENCE) {
      await after(HOST_MS_PATIENCE);
      if (isHosted && this.#threads.loading === "policy") return;
    }
  }

  async go(): Promise<RunReport | undefined> {
    const threads = this.#threads;
    const watch = this.#watch;
    threads.onUnaskedEnd(({ name, why }) => this.#loseThread(name, why));
    this.#hooks.note(LOADING);
    let realtimeFactor = 0;
    const granted = await this.#start();
    if (granted === undefined) return undefined; // the process leaves, and its threads with it
    try {
      if (threads.policyName !== "") watch.policy = printable(threads.policyName);
      const missing = realtimeWarnings(granted, this.#options.plan.isHardware);
      watch.warnings = [...missing, ...this.#estop.warnings];
      for (const warning of watch.warnings) this.#hooks.note(warning);
      watch.estop = this.#estop.text; // the first status tells it
      // Typing `run` is the start act; a service was not typed.
      if (!this.#options.waitsForStart) threads.cue(OperatorCue.Start);
      this.#hooks.onHandle(this.#handle());
      const startedNs = this.#clock.nowNs();
      this.#endNs = startedNs + (this.#options.durationS ?? Infinity) * 1e9;
      await this.#untilOver();
      const { firstNs, lastNs } = watch.stats;
      realtimeFactor = (lastNs - firstNs) / (this.#clock.nowNs() - startedNs);
    } finally {
      await this.#estop.leave();
      this.#tellHung(await threads.stop());
      this.#poll();
    }
    return this.#report(realtimeFactor);
  }

  /** A thread's note. A policy may throw at every decision, and something new each time. */
  #tell(text: string): void {
    if (text.startsWith("policy ")) this.#notes.note(text, this.#clock.nowNs());
    else this.#hooks.note(text);
  }

  /** No reset leads anywhere: only a new run opens its line again. */
  #loseEstop(text: string): void {
    this.#failure = text;
    this.#watch.lostThread = text;
  }

  /** A thread that hangs is lost as much as one that ended, only later. */
  #tellHung(names: readonly string[]): void {
    if (names.length === 0) return;
    const text = `did not end in time: the ${names.join(", ")} thread`;
    this.#hooks.note(text);
    this.#failure ??= text;
  }

  #loseThread(name: string, why: string): void {
    const text = `the ${name} thread ended: ${why}`;
    this.#hooks.note(text);
    this.#failure = text;
    this.#watch.lostThread = text;
    if (name === "control") {
      this.#flight.dump(text);
      this.#end();
      return;
    }
    const isDriver = name === "robot" || name === "estop";
    this.#threads.cue(isDriver ? OperatorCue.DriverLost : OperatorCue.PolicyLost);
  }

  /** Polls until the run is over: asked to quit and at rest, or out of time. */
  async #untilOver(): Promise<void> {
    const ended = new Promise<void>((resolve) => {
      this.#end = resolve;
    });
    const poll = setInterval(() => this.#poll(), POLL_MS);
    try {
      await ended;
    } finally {
      clearInterval(poll);
    }
    this.#poll();
  }

  #poll(): void {
    this.#ticklessPolls += 1;
    while (this.#ticks.takeInto(this.#tick)) {
      this.#ticklessPolls = 0;
      this.#takeEvidence(this.#tick[TickSlot.nowNs]!);
      this.#watch.write(this.#tick);
      this.#flight.see(this.#tick);
      if (this.#quitAsked && this.#rest.isOver(this.#tick)) this.#end();
    }
    this.#estop.poll();
    this.#watch.estop = this.#estop.text;
    this.#watch.cutTime = this.#estop.cutTime;
    this.#watch.estopArmsFromHere = this.#estop.armsFromHere;
    const { lost } = this.#estop;
    if (lost !== "" && this.#watch.lostThread === "") this.#loseEstop(lost);
    this.#robotStatus.take();
    if (this.#policyStatus.take()) {
      this.#watch.hostTimes = policyStatusOf(this.#policyStatus.record).hostTimes;
    }
    this.#watch.policyTrouble = this.#threads.policyTrouble;
    if (this.#ticklessPolls === TICKLESS_POLLS_MAX) this.#loseThread("control", "no more ticks");
    const nowNs = this.#clock.nowNs();
    this.#notes.tell(nowNs);
    if (nowNs >= this.#endNs) this.#quit();
    this.#threads.words.beat(ThreadSlot.main);
  }

  /** Evidence of a tick goes before the tick's record, so that a stop knows what led to it. */
  #takeEvidence(untilNs: number): void {
    while (this.#hasEvidenceEntry || this.#evidence.takeInto(this.#evidenceEntry)) {
      this.#hasEvidenceEntry = this.#evidenceEntry[EvidenceSlot.nowNs]! > untilNs;
      if (this.#hasEvidenceEntry) return;
      this.#watch.note(this.#evidenceEntry[EvidenceSlot.code] as Evidence);
    }
  }

  #quit(): void {
    if (this.#quitAsked) return;
    this.#quitAsked = true;
    this.#threads.cue(OperatorCue.Shutdown);
    setTimeout(() => this.#end(), this.#rest.restMsMax).unref();
  }

  #estopFacts(): EstopFacts {
    this.#robotStatus.take();
    const { record } = this.#robotStatus;
    return {
      nowNs: this.#clock.nowNs(),
      isStarting: this.#watch.stats.last[TickSlot.mode] === Mode.Starting,
      isActive: record[RobotStatusSlot.lifecycle] === LifecycleState.Active,
      isEnableLost: record[RobotStatusSlot.supplyTrouble] !== SupplyTrouble.None,
    };
  }

  #task(): RunReport["task"] {
    const { record } = this.#robotStatus;
    // The cell counts episodes begun; one that is done rests before the next begins.
    const begun = record[RobotStatusSlot.episodes] ?? 0;
    const isEpisodeUnderWay = begun > 0 && record[RobotStatusSlot.done] !== 1;
    return {
      name: this.#options.plan.task.name,
      success: record[RobotStatusSlot.success] === 1,
      episodeCount: isEpisodeUnderWay ? begun - 1 : begun,
      isEpisodeUnderWay,
      successCount: record[RobotStatusSlot.successes] ?? 0,
    };
  }

  #handle(): RunHandle {
    const cues = this.#watch.cues((cue) => this.#threads.cue(cue));
    const fresh = (give: RunHandle["reset"]) => () => {
      this.#poll(); // what is judged is the newest tick
      return give();
    };
    const byHand = (answer: CueAnswer) => this.#watch.byHand(answer);
    return {
      status: () => this.#watch.status(),
      ...cues,
      reset: () => byHand(this.#estop.pressReset() ?? fresh(cues.reset)()),
      start: fresh(cues.start),
      estop: () => byHand(this.#estop.pressButton()),
      arm: () => byHand(this.#estop.pressReset() ?? this.#estop.refusal),
      prooftest: () => byHand(this.#estop.proveAgain()),
      quit: () => this.#quit(),
      frame: () => this.#frame(),
    };
  }

  /** The newest picture, encoded once; a picture that changed under the copy is left out. */
  #frame(): Promise<Uint8Array | undefined> {
    this.#ask.ask();
    this.#picture.take();
    const { record } = this.#picture;
    const sequence = record[PictureSlot.arenaSeq]!;
    const stampNs = record[PictureSlot.stampNs]!;
    if (sequence === 0 || stampNs === this.#pictureNs) return this.#lastJpeg;
    const slot = record[PictureSlot.slot]!;
    const pixels = this.#pictures.pixels(slot).slice();
    if (!this.#pictures.isUnchanged(slot, sequence)) return this.#lastJpeg;
    this.#pictureNs = stampNs;
    const width = record[PictureSlot.widthPx]!;
    const height = record[PictureSlot.heightPx]!;
    this.#lastJpeg = encodeJpeg(pixels, width, height, JPEG_QUALITY_PERCENT);
    return this.#lastJpeg;
  }

  #report(realtimeFactor: number): RunReport {
    const { safeTicks, safeEpisodes } = policyStatusOf(this.#policyStatus.record);
    return this.#watch.report({
      policySafeTicks: safeTicks,
      policySafeEpisodes: safeEpisodes,
      realtimeFactor,
      failure: this.#failure,
    });
  }
}

function after(ms: number): Promise<undefined> {
  return new Promise((resolve) => {
    setTimeout(() => resolve(undefined), ms).unref();
  });
}
