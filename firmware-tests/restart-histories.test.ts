// Restart safety: one core through random histories of stops and restarts. It is moved by hand
// while it stands, late chunks and bursts arrive, stops fall into takeovers and into stops, a
// reset is held down, starts come before resets, sensors fall silent and policies too.
//
// The ledger knows what a person did, when each decision was made, and where the robot was. Nothing
// may move without a reset and then a start, nothing decided before may move, and the first command
// after a start is the held one, if droop explains it, or where the robot is, at rest.

import { expect, test } from "bun:test";
import { ChunkSlot, ChunkView } from "../runtime/contracts/action.ts";
import { CommandKind, CommandSlot } from "../runtime/contracts/command.ts";
import type { CommandView } from "../runtime/contracts/command.ts";
import { Mode, OperatorCue } from "../runtime/contracts/mode.ts";
import type { SourceProfile } from "../runtime/contracts/profile.ts";
import { SampleSlot } from "../runtime/contracts/sample.ts";
import type { SensorSnapshot } from "../runtime/contracts/sample.ts";
import { SeededRandom } from "../runtime/contracts/seeded-random.ts";
import { StateLayout } from "../runtime/contracts/state.ts";
import { instant, milliseconds } from "../runtime/contracts/units.ts";
import type { Instant } from "../runtime/contracts/units.ts";
import { ControlCore } from "../runtime/core/core.ts";
import { controlTick } from "../runtime/core/tick.ts";
import { testJoint, testProfile } from "../safety/fixture.ts";
import { isLong, noteFigure } from "./figures.ts";

const HISTORIES = isLong ? 100_000 : 2_000;
const PERIOD_NS = 5_000_000;
const DT = 0.005;
/** A hand turns the joint by 2 rad/s at most. */
const HAND_STEP_RAD = 2 * DT;
const FINGERPRINT = 7;
const source: SourceProfile = {
  id: "arm",
  kind: "proprio",
  periodNs: milliseconds(5),
  validityNs: milliseconds(15),
  joints: ["joint"],
  measuresVelocity: true,
  measuresEffort: false,
  frame: "joint",
};

class HistoryError extends Error {
  override readonly name = "HistoryError";
}

/** One robot, one policy and one person, all at random; and the ledger that watches the core. */
class History {
  readonly #random: SeededRandom;
  readonly #core: ControlCore;
  readonly #chunk = new ChunkView();
  readonly #cues: OperatorCue[] = [];
  /** Decisions on their way: the epoch each was made in, and its number. */
  readonly #mail: { epoch: number; seq: number; valueRad: number }[] = [];
  readonly #decidedTicks = new Map<string, number>();
  #epoch = 0;
  #seq = 0;
  #tick = 0;
  #positionRad = 0;
  #speedRadPerS = 0;
  #silentTicks = 0;
  #handLeftRad = 0;
  #policySilentTicks = 0;
  #holdsReset = false;
  #owesReset = false;
  #owesStart = true;
  #startedTick = -1;
  #lastRad = 0;
  /** Where the robot was last measured. */
  #seenRad = 0;
  #restedTicks = 0;
  histories = 0;
  motions = 0;
  handMoves = 0;
  lateChunks = 0;

  constructor(seed: number) {
    this.#random = new SeededRandom(seed);
    const base = testProfile([testJoint()], { sources: [source] });
    const supervisor = {
      ...base.supervisor,
      noActionPersistNs: milliseconds(60),
      staleStatePersistNs: milliseconds(30),
      relapseWindowNs: milliseconds(400),
    };
    this.#core = new ControlCore({
      profile: { ...base, supervisor },
      layout: new StateLayout(base, [source], ""),
      schemaFingerprint: FINGERPRINT,
      sensor: { observeInto: (snapshot, nowNs) => this.#observe(snapshot, nowNs) },
      actuator: { send: (command) => this.#judge(command) },
      policy: {
        chunk: this.#chunk,
        takeChunk: () => this.#take(),
        publish: () => undefined,
        beginEpoch: (epoch) => {
          this.#epoch = epoch;
          this.#seq = 0;
        },
      },
      cues: { takeCue: () => this.#cues.shift() ?? OperatorCue.None },
      alive: { check: () => 0 },
      ticks: { write: () => undefined },
      evidence: { note: () => undefined },
      deadlineIsFault: false,
    });
    this.#core.prime(instant(0));
  }

  run(histories: number): void {
    while (this.histories < histories) this.#step();
  }

  #step(): void {
    this.#act();
    this.#world();
    const before = this.#core.supervisor.mode;
    controlTick(this.#core, instant(this.#tick * PERIOD_NS));
    const { mode, started } = this.#core.supervisor;
    const stands = mode === Mode.SafeStop || mode === Mode.FaultLatched;
    if (stands && before !== mode) {
      this.#owesReset = true;
      this.#owesStart = true;
      if (before !== Mode.SafeStop) this.histories += 1;
    }
    if (started) this.#startedTick = this.#tick;
    this.#tick += 1;
  }

  /** What a person does: mostly the sensible thing, often at once, sometimes all together. */
  #act(): void {
    const random = this.#random;
    const { mode } = this.#core.supervisor;
    const cues: OperatorCue[] = [];
    const stands = mode === Mode.SafeStop || mode === Mode.FaultLatched;
    if (random.next() < 0.02) cues.push(OperatorCue.Stop);
    if (random.next() < 0.002) this.#holdsReset = !this.#holdsReset;
    if (this.#holdsReset || random.next() < (stands ? 0.2 : 0.02)) cues.push(OperatorCue.Reset);
    if (random.next() < (mode === Mode.Recover || mode === Mode.Starting ? 0.2 : 0.03)) {
      cues.push(OperatorCue.Start);
    }
    if (random.next() < 0.5) cues.reverse();
    this.#cues.push(...cues);
    this.#note(cues, mode);
  }

  /** A start counts only in a later tick than the reset that it needs. */
  #note(cues: readonly OperatorCue[], mode: Mode): void {
    const stands = mode === Mode.SafeStop || mode === Mode.FaultLatched;
    if (cues.includes(OperatorCue.Start) && !this.#owesReset) this.#owesStart = false;
    if (cues.includes(OperatorCue.Reset) && stands) this.#owesReset = false;
    // A stop outlives whatever comes with it.
    if (!cues.includes(OperatorCue.Stop)) return;
    this.#owesReset = true;
    this.#owesStart = true;
  }

  #world(): void {
    const random = this.#random;
    const { gate } = this.#core;
    if (random.next() < 0.004) this.#silentTicks = 1 + random.next() * 15;
    if (random.next() < 0.01) this.#policySilentTicks = 1 + random.next() * 40;
    this.#silentTicks -= 1;
    this.#policySilentTicks -= 1;
    const aimRad = gate.seeded ? gate.command[0]! - 0.02 : this.#positionRad;
    const still = !this.#moving && gate.atRest;
    const byHand = still && random.next() < 0.02;
    if (byHand) this.handMoves += 1;
    let goneRad = ((aimRad - this.#positionRad) / 0.03) * DT;
    if (byHand) this.#handLeftRad = random.next() - 0.5;
    if (!still) this.#handLeftRad = 0;
    if (still) {
      goneRad = Math.max(-HAND_STEP_RAD, Math.min(HAND_STEP_RAD, this.#handLeftRad));
      this.#handLeftRad -= goneRad;
    }
    this.#positionRad = Math.max(-1.9, Math.min(1.9, this.#positionRad + goneRad));
    this.#speedRadPerS = still ? 0 : goneRad / DT;
    if (this.#policySilentTicks <= 0 && random.next() < 0.3) this.#decide();
    if (this.#mail.length > 200) this.#mail.length = 0;
  }

  get #moving(): boolean {
    const { mode } = this.#core.supervisor;
    return mode === Mode.Running || mode === Mode.Degraded;
  }

  #decide(): void {
    this.#seq += 1;
    const epoch = this.#epoch;
    const towardsRad = this.#core.gate.seeded ? this.#core.gate.command[0]! : this.#positionRad;
    const valueRad = Math.max(-1.8, Math.min(1.8, towardsRad + (this.#random.next() - 0.5) * 0.3));
    this.#decidedTicks.set(`${epoch} ${this.#seq}`, this.#tick);
    this.#mail.push({ epoch, seq: this.#seq, valueRad });
  }

  #take(): boolean {
    const random = this.#random;
    if (this.#mail.length === 0 || random.next() < 0.4) return false;
    const index =
      random.next() < 0.7 ? this.#mail.length - 1 : Math.floor(random.next() * this.#mail.length);
    const [letter] = this.#mail.splice(index, 1);
    const { epoch, seq, valueRad } = letter!;
    if (epoch !== this.#epoch) this.lateChunks += 1;
    const nowNs = this.#tick * PERIOD_NS;
    this.#chunk.begin(epoch, seq, 4, 1, milliseconds(20));
    this.#chunk.record[ChunkSlot.schemaFingerprint] = FINGERPRINT;
    const fromNs = nowNs + Math.floor(random.next() * 4) * PERIOD_NS;
    this.#chunk.setWindow(instant(fromNs), instant(fromNs + 80e6));
    this.#chunk.values.fill(valueRad, 0, 4);
    return true;
  }

  #observe(snapshot: SensorSnapshot, nowNs: Instant): void {
    snapshot.clear();
    if (this.#silentTicks > 0) return;
    const { record, payload } = snapshot.samples[0]!;
    record[SampleSlot.sensorStampNs] = nowNs - 2e6;
    record[SampleSlot.receiveNs] = nowNs - 1e6;
    record[SampleSlot.validMask] = 1;
    this.#seenRad = this.#positionRad;
    payload[0] = this.#positionRad;
    payload[1] = this.#speedRadPerS;
    snapshot.arrived[0] = 1;
  }

  /** What left the core in this tick, against the ledger. */
  #judge(command: CommandView): void {
    const { kind, record, values } = command;
    if (kind === CommandKind.None) return;
    const valueRad = values[0]!;
    const movedRad = Math.abs(valueRad - this.#lastRad);
    const isStart = this.#core.supervisor.started;
    if (isStart && this.#restedTicks >= 2) {
      const sagRad = Math.abs(this.#lastRad - this.#seenRad);
      const offRad = Math.abs(valueRad - this.#seenRad);
      const near = sagRad <= 0.08 ? movedRad : offRad;
      this.#must(near <= 1e-9, `starts ${near} rad from the held command and from the robot`);
    } else {
      this.#must(
        movedRad <= 3 * DT + 1e-9 || this.#tick === 0 || !this.#wasSeeded,
        `leaps ${movedRad} rad`,
      );
    }
    if (kind === CommandKind.Motion) this.#judgeMotion(record, movedRad, isStart);
    this.#restedTicks = movedRad < 1e-12 ? this.#restedTicks + 1 : 0;
    this.#lastRad = valueRad;
    this.#wasSeeded = true;
  }
  #wasSeeded = false;

  #judgeMotion(record: Float64Array, movedRad: number, isStart: boolean): void {
    this.motions += 1;
    this.#must(!isStart, "moves in the tick of the start");
    this.#must(!this.#owesReset && !this.#owesStart, "moves without a reset and a start");
    const name = `${record[CommandSlot.epoch]} ${record[CommandSlot.seq]}`;
    const decidedTick = this.#decidedTicks.get(name);
    const isNew = decidedTick !== undefined && decidedTick > this.#startedTick;
    this.#must(isNew, `follows a decision of tick ${decidedTick}`);
    // From rest, one tick of motion's jerk.
    if (this.#restedTicks >= 3)
      this.#must(movedRad <= 600 * DT ** 3 + 1e-9, `leaps ${movedRad} rad`);
  }

  #must(fact: boolean, what: string): void {
    if (!fact) throw new HistoryError(`tick ${this.#tick}: ${what}`);
  }
}

const seed = Number(Bun.env["SEED"] ?? 1);

test(`in ${HISTORIES} histories nothing older moves, and only a person lets it move`, () => {
  const history = new History(seed);
  history.run(HISTORIES);
  const { handMoves, lateChunks, motions } = history;
  expect(motions).toBeGreaterThan(HISTORIES);
  expect(handMoves).toBeGreaterThan(HISTORIES / 10);
  expect(lateChunks).toBeGreaterThan(HISTORIES / 10);
  noteFigure({
    part: "restart histories",
    case: `seed ${seed}`,
    measured: `0 violations, ${motions} motions, ${handMoves} by hand, ${lateChunks} late chunks`,
    limit: "0 violations",
    tries: `${HISTORIES} stops`,
  });
}, 600_000);
