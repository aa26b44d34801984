// How soon a robot knows that its host has begun to lie, in the middle of a run and in virtual
// time, for lies that begin at every phase of a question. The bound follows from the link's rules:
// a question is asked a period after the last answer, and its time is the window of its rows; one
// of an epoch that is over is nobody's, and the next waits until its time is over too.

import { expect, test } from "bun:test";
import type { ChunkView } from "../contracts/action.ts";
import { SequenceAllocator } from "../contracts/policy.ts";
import { StateLayout, StateSlot, StateView } from "../contracts/state.ts";
import { loadRobot } from "../profile/load.ts";
import { DT_NS, facts, JOINTS, VirtualLink } from "./fixture.ts";
import type { Lie } from "./mischief.ts";
import { RemotePolicy } from "./remote-policy.ts";

const robot = loadRobot("document-one");
const joints = JOINTS.map((name) => ({ ...robot.joints[0]!, name }));
const layout = new StateLayout({ ...robot, joints }, robot.sources, "");

/** As the shipped arm has them: 16 rows of 20 ms, asked 20 times a second. */
const HORIZON = 16;
const WINDOW_NS = HORIZON * DT_NS;
const PERIOD_NS = 50e6;
/** Virtual time goes on in steps, and so does whoever asks. */
const STEP_NS = 1e6;
const AGE_NS = 5e6;
const SLOW_NS = 500e6;
/** What the host had begun to answer before is honest: its thinking, and the way. */
const HONEST_NS = 35e6;
/** Longer than from one question to the next, in steps that beat with neither. */
const PHASES_NS = Array.from({ length: 32 }, (_, phase) => phase * 7e6);

class Robot {
  readonly link = new VirtualLink(1, { reset: () => undefined, decide: rows });
  readonly policy: RemotePolicy;
  /** Decisions that were handed on. */
  decidedCount = 0;
  readonly #state = new StateView(new Float64Array(layout.slotCount), layout);
  #isPending = false;
  #dueNs = 0;
  #epoch = 1;
  #readCount = 0;

  constructor() {
    this.link.facts = facts({ horizon: HORIZON });
    this.policy = new RemotePolicy(this.link.facts, {
      link: this.link.link,
      pump: () => undefined, // the virtual link serves every millisecond
      hangUp: () => undefined,
      nowNs: () => this.link.nowNs,
      pictures: undefined,
      anchoring: "observation",
      waitsForEver: false,
    });
    this.policy.reset(this.#epoch, new SequenceAllocator(this.#epoch));
  }

  /** Asks as a runner does, until `holds`; how long that took, or NaN. */
  async until(holds: () => boolean, ns: number): Promise<number> {
    const fromNs = this.link.nowNs;
    while (this.link.nowNs < fromNs + ns) {
      this.link.run(this.link.nowNs + STEP_NS);
      const { answers } = this.link;
      for (; this.#readCount < answers.length; this.#readCount += 1) {
        this.policy.answered(answers[this.#readCount]!);
      }
      await Promise.resolve();
      if (holds()) return this.link.nowNs - fromNs;
      this.#ask();
    }
    return Number.NaN;
  }

  /** As a stop does: all that was asked before is nobody's. */
  beginEpoch(): void {
    this.#epoch += 1;
    this.#isPending = false;
    this.#dueNs = 0;
    this.policy.reset(this.#epoch, new SequenceAllocator(this.#epoch));
  }

  #ask(): void {
    const { nowNs } = this.link;
    if (this.#isPending || nowNs < this.#dueNs) return;
    this.#dueNs = nowNs + PERIOD_NS;
    this.#state.record[StateSlot.stampNs] = nowNs - AGE_NS;
    const answer = this.policy.act(this.#state, nowNs);
    if (answer === null) return;
    const epoch = this.#epoch;
    this.#isPending = true;
    void answer.then((chunk) => this.#take(chunk, epoch));
  }

  #take(chunk: ChunkView | null, epoch: number): void {
    if (epoch !== this.#epoch) return;
    this.#isPending = false;
    if (chunk !== null) this.decidedCount += 1;
  }
}

function rows() {
  const values = Array.from({ length: HORIZON * JOINTS.length }, () => 0.5);
  return { horizon: HORIZON, dtNs: DT_NS, startOffsetNs: undefined, inferenceNs: 1, rows: values };
}

const lying = (lie: Lie) => (link: VirtualLink) => {
  link.lie = lie;
};
const slow = (link: VirtualLink): void => {
  link.inferenceNs = SLOW_NS;
};

test.each<[string, (link: VirtualLink) => void, RegExp]>([
  ["of another epoch", lying("epoch"), /refused: wrong_epoch/],
  ["of another schema", lying("schema"), /refused: wrong_schema/],
  ["too long", lying("long"), /refused: wrong_horizon/],
  ["too wide", lying("wide"), /refused: wrong_width/],
  ["NaN", lying("nan"), /refused: not_finite/],
  ["of another session", lying("session"), /no answer in time/],
  ["out of order", lying("order"), /no answer in time/],
  ["late", slow, /no answer in time/],
])(
  "answers %s: told within a period and a window, and a window more after a stop",
  async (...row) => {
    const [, begin, words] = row;
    const isTold = (own: Robot) => () => words.test(own.policy.trouble);
    for (const isStopped of [false, true]) {
      let slowestNs = 0;
      for (const phaseNs of PHASES_NS) {
        const own = new Robot();
        await own.until(() => false, 1e9 + phaseNs);
        expect([own.policy.trouble, own.decidedCount > 5]).toEqual(["", true]);
        begin(own.link);
        await own.until(() => false, HONEST_NS);
        const { decidedCount } = own;
        if (isStopped) own.beginEpoch();
        const toldNs = await own.until(isTold(own), 2e9);
        expect(own.decidedCount).toBe(decidedCount);
        // Counted from the lie, or from the stop that came after it.
        slowestNs = Math.max(slowestNs, isStopped ? toldNs : HONEST_NS + toldNs);
      }
      expect(slowestNs).toBeGreaterThan(0);
      expect(slowestNs).toBeLessThanOrEqual((isStopped ? 2 : 1) * WINDOW_NS + PERIOD_NS);
      expect(slowestNs).toBeLessThanOrEqual(750e6);
    }
  },
);
