// The firmware's core and the model, walked side by side through seeded storms: a host that mostly
// behaves, contacts that mostly follow, and faults that come in patterns. After every step the two
// must agree in everything that can be seen. 10^6 steps, and 10^7 in the long run.

import { expect, test } from "bun:test";
import { EstopCore, EstopView } from "../hal/ffi/estop-core.ts";
import type { EstopConfig } from "../hal/ffi/estop-core.ts";
import {
  EstopCause,
  EstopFlag,
  EstopMode,
  EstopVerdict,
} from "../runtime/contracts/estop-codes.ts";
import { EstopOutput, EstopProof } from "../runtime/contracts/estop-codes.ts";
import { AnswerWriter, EstopAnswer, EstopStatus } from "../runtime/contracts/estop-frame.ts";
import { StatusReader } from "../runtime/contracts/estop-frame.ts";
import { SeededRandom } from "../runtime/contracts/seeded-random.ts";
import { RelayPair, SWITCHES_AT_REST } from "./estop-bench.ts";
import { SHIPPED } from "./estop-core-bench.ts";
import { answerOf } from "./estop-host.ts";
import { isLong, noteFigure } from "./figures.ts";
import { EstopModel } from "./estop-model.ts";
import { hasHostCompiler, hostLibrary } from "./firmware-build.ts";

const STEPS = isLong ? 10_000_000 : 1_000_000;
const SEEDS = [1, 2, 3, 4, 5];

const configs: readonly EstopConfig[] = [
  SHIPPED,
  { ...SHIPPED, silenceMs: 100, cutDelayMs: 500, discrepancyMs: 200 },
  { ...SHIPPED, stopMs: 40, cutDelayMs: 60, discrepancyMs: 20, buildBits: 1 },
  { ...SHIPPED, silenceMs: 40, settleMs: 15, buildBits: 5 },
];

/** Which faults a stretch of the walk has, and how often in a step; most are off. */
type Weather = {
  readonly bad: number;
  readonly lost: number;
  readonly button: number;
  readonly chain: number;
  readonly relay: number;
  readonly flags: number;
  readonly jumps: number;
};

class Walk {
  /** Modes, causes and verdicts that came up. */
  readonly seen = new Set<string>();
  readonly #random: SeededRandom;
  readonly #core: EstopCore;
  readonly #model: EstopModel;
  readonly #relays = new RelayPair();
  readonly #status = new EstopStatus();
  readonly #reader = new StatusReader(null);
  readonly #writer = new AnswerWriter(null);
  readonly #wire: Uint8Array;
  readonly #startUs = 2 ** 32 - 40_000_000;
  #old: Uint8Array;
  #nowUs = 0;
  #beatUs = 0;
  #counter = 0;
  #tick = 0;
  #switches = SWITCHES_AT_REST;
  #weather: Weather;

  constructor(seed: number) {
    this.#random = new SeededRandom(seed);
    const config = configs[seed % configs.length]!;
    const nonce = (seed * 0x9e37_79b1) % 2 ** 32;
    const cause = EstopCause.PowerOn;
    const library = hostLibrary(false);
    this.#core = new EstopCore(library, config, new Uint8Array(8), nonce, cause, this.#startUs);
    this.#model = new EstopModel(config, nonce, cause);
    this.#wire = new Uint8Array(this.#writer.wireSizeBytes);
    this.#old = this.#wire;
    this.#weather = this.#newWeather();
  }

  close(): void {
    this.#core.free();
  }

  step(): void {
    if (this.#chance(0.000_5)) this.#weather = this.#newWeather();
    const { jumps, relay } = this.#weather;
    this.#nowUs += this.#chance(jumps) ? Math.floor(this.#random.next() * 30_000) : 256;
    this.#moveSwitches();
    if (this.#chance(relay)) this.#relays.welded = this.#pick([0, 0, 0, 1, 2]);
    if (this.#chance(relay)) this.#relays.stuckOpen = this.#pick([0, 0, 0, 1, 2]);
    if (this.#nowUs >= this.#beatUs) {
      this.#beatUs = Math.max(this.#beatUs + 5_000, this.#nowUs - 5_000);
      this.#beat();
    }
    const chipUs = this.#chipUs();
    const sample = this.#switches | this.#relays.inputsAt(this.#nowUs, this.#model.outputs);
    this.#compare(this.#core.step(chipUs, sample), this.#model.step(this.#nowUs, sample));
    this.#takeStatus(chipUs);
  }

  #chipUs(): number {
    return (this.#startUs + this.#nowUs) % 2 ** 32;
  }

  #chance(probability: number): boolean {
    return probability > 0 && this.#random.next() < probability;
  }

  #pick<T>(values: readonly T[]): T {
    return values[Math.floor(this.#random.next() * values.length)]!;
  }

  #newWeather(): Weather {
    const on = (probability: number) => (this.#chance(0.25) ? probability : 0);
    return {
      bad: on(this.#pick([0.02, 0.2, 0.5])),
      lost: on(this.#pick([0.01, 0.3])),
      button: on(0.001),
      chain: on(0.000_5),
      relay: on(0.001),
      flags: on(0.05),
      jumps: on(0.002),
    };
  }

  /** A person: mostly lets go of buttons again, and presses the reset now and then. */
  #moveSwitches(): void {
    const { button, chain } = this.#weather;
    if (this.#chance(button)) this.#switches &= ~this.#pick([1, 2, 3, 3]);
    if (this.#chance(chain)) this.#switches &= ~4;
    if (this.#chance(0.002)) this.#switches ^= 8;
    if (this.#chance(0.002)) this.#switches |= SWITCHES_AT_REST;
  }

  /** One tick of the host: it does what the proof test waits for, or what the weather wants. */
  #beat(): void {
    this.#tick = (this.#tick + 16) % 2 ** 32;
    if (this.#chance(this.#weather.lost)) return;
    const { mode, proofStep } = this.#status;
    if (this.#chance(this.#weather.bad)) this.#sendBad();
    else if (mode === EstopMode.Proof && this.#chance(0.9)) this.#prove(proofStep as EstopProof);
    else this.#send({});
  }

  #prove(step: EstopProof): void {
    const isWrong = step === EstopProof.Wrong || step === EstopProof.Five;
    if (step === EstopProof.Corrupt) this.#sendBroken();
    else if (step !== EstopProof.Silence) this.#send(isWrong ? { answer: 1 } : {});
    if (step !== EstopProof.Burst) return;
    for (let index = 1; index < 5; index += 1) this.#send({ tickIndex: this.#tick + index });
  }

  #sendBad(): void {
    const { bootNonce, counter, tickIndex } = this.#status;
    const kind = Math.floor(this.#random.next() * 12);
    if (kind === 0) this.#sendBroken();
    else if (kind === 1) this.#receive(this.#old);
    else if (kind === 2) this.#send({ bootNonce: bootNonce + 1 });
    else if (kind === 3) this.#send({ questionId: (counter + 65_530) % 65_536 });
    else if (kind === 4) this.#send({ tickIndex });
    else if (kind === 5) this.#send({ hostMode: 6 });
    else if (kind === 6) this.#receive(Uint8Array.from([0, 1, 1, 1, 0]));
    else if (kind === 7) this.#sendNoise();
    else if (kind === 8)
      for (let at = 0; at < 5; at += 1) this.#send({ tickIndex: this.#tick + at });
    else this.#send({ answer: 1 });
  }

  #sendNoise(): void {
    const size = Math.floor(this.#random.next() * 80);
    this.#receive(Uint8Array.from({ length: size }, () => Math.floor(this.#random.next() * 256)));
  }

  #sendBroken(): void {
    this.#send({}, (wire) => (wire[3 + Math.floor(this.#random.next() * 20)]! ^= 0x10));
  }

  #send(fields: Partial<EstopAnswer>, spoil: (wire: Uint8Array) => void = () => {}): void {
    const { bootNonce, question, counter } = this.#status;
    this.#counter = (this.#counter + 1) % 65_536;
    const tickIndex = fields.tickIndex ?? this.#tick;
    const answer = Object.assign(new EstopAnswer(), {
      counter: this.#counter,
      bootNonce,
      tickIndex,
      answer: answerOf(question, tickIndex),
      questionId: counter,
      hostMode: (this.#tick / 16) % 6,
      flags: this.#flags(),
      ...fields,
    });
    this.#writer.writeInto(this.#wire, answer);
    spoil(this.#wire);
    if (this.#chance(0.1)) this.#old = this.#wire.slice();
    this.#receive(this.#wire);
  }

  #flags(): number {
    const { mode } = this.#status;
    const isOpen = mode === EstopMode.Tripped || mode === EstopMode.Disarmed;
    const reset = this.#tick % 256 < 128 ? EstopFlag.Reset : 0;
    if (!this.#chance(this.#weather.flags)) return (isOpen ? EstopFlag.Proof : 0) | reset;
    return this.#pick([1, 2, 4, 5, 8, 9, 15]);
  }

  #receive(bytes: Uint8Array): void {
    this.#core.receive(bytes, this.#chipUs());
    this.#model.receive(bytes, this.#nowUs);
  }

  #compare(coreOutputs: number, modelOutputs: number): void {
    const view = this.#core.refreshView();
    const model = this.#model;
    const isSame =
      coreOutputs === modelOutputs &&
      view[EstopView.mode] === model.mode &&
      view[EstopView.cause] === model.cause &&
      view[EstopView.failCount] === model.failCount &&
      view[EstopView.badCount] === model.badCount &&
      view[EstopView.lastBad] === model.lastBad &&
      view[EstopView.proofStep] === model.proofStep &&
      view[EstopView.levels] === model.levels &&
      view[EstopView.goodStreak] === model.goodStreak &&
      (view[EstopView.beating] === 1) === model.beating &&
      (view[EstopView.bothOpenDue] === 1) === model.bothOpenDue &&
      view[EstopView.hostMode] === model.hostMode;
    this.seen.add(`mode ${model.mode}`).add(`cause ${model.cause}`).add(`bad ${model.lastBad}`);
    if (isSame) return;
    const { mode, cause, failCount, badCount, lastBad, proofStep, levels, goodStreak } = model;
    const own = [mode, cause, modelOutputs, failCount, badCount, lastBad, proofStep, levels];
    const text = `core ${view.join(" ")}, model ${[...own, goodStreak, model.beating].join(" ")}`;
    throw new Error(`at ${this.#nowUs} us: ${text}`);
  }

  #compareStatus(): void {
    const { mode, cause, failCount, badCount, lastBad, proofStep } = this.#model;
    const { hostMode, tickIndex, levels, outputs, bothOpenDue, beating } = this.#model;
    const wouldTrip = mode === EstopMode.Proof && (failCount >= 5 || !beating);
    const shown = (wouldTrip ? EstopOutput.TripShown : 0) | (bothOpenDue ? 8 : 0);
    const told = { mode, cause, failCount, badCount, lastBad, proofStep, hostMode, tickIndex };
    expect(this.#status).toMatchObject({ ...told, inputs: levels, outputs: outputs | shown });
  }

  #takeStatus(chipUs: number): void {
    const size = this.#core.status(chipUs);
    for (let at = 0; at < size; at += 1) {
      const verdict = this.#reader.takeInto(this.#status, this.#core.statusWire[at]!);
      if (verdict === EstopVerdict.Pending) continue;
      if (verdict !== EstopVerdict.Good) throw new Error(`status ${verdict} at ${this.#nowUs} us`);
      this.#compareStatus();
      this.#model.asked(this.#status.counter, this.#status.question, this.#nowUs);
    }
  }
}

const everything = [
  ...[0, 1, 2, 3, 4, 5, 6].map((mode) => `mode ${mode}`),
  ...[0, 1, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 17].map((cause) => `cause ${cause}`),
  ...[1, 4, 5, 6, 7, 8, 9, 10].map((verdict) => `bad ${verdict}`),
];

test.skipIf(!hasHostCompiler)(
  "core and model agree in every step, and the walks reach every mode and cause",
  () => {
    const seen = new Set<string>();
    for (const seed of SEEDS) {
      const walk = new Walk(seed);
      for (let step = 0; step < STEPS / SEEDS.length; step += 1) walk.step();
      for (const each of walk.seen) seen.add(each);
      walk.close();
    }
    expect(everything.filter((each) => !seen.has(each))).toEqual([]);
    noteFigure({
      part: "core beside its model",
      case: `${SEEDS.length} walks`,
      measured: `0 differences, ${seen.size} modes, causes and verdicts met`,
      limit: "0 differences",
      tries: `${STEPS} steps`,
    });
  },
  isLong ? 600_000 : 60_000,
);
