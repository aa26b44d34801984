// The heartbeat is earned: a real core answers the chip's question only by a whole tick. The oracle
// is the fold of the protocol's vectors, made here. A tick with a stage left out, run twice or run
// in another place ends with a word that the chip refuses, or doesn't end at all.

import { expect, test } from "bun:test";
import vectors from "../../firmware-tests/vectors/estop-frames.json";
import { testJoint, testProfile } from "../../safety/fixture.ts";
import { foldStage, openAnswer } from "../contracts/estop-answer.ts";
import { ChunkView } from "../contracts/action.ts";
import type { CommandView } from "../contracts/command.ts";
import { Mode, OperatorCue } from "../contracts/mode.ts";
import { Reason } from "../contracts/reason.ts";
import { StateLayout } from "../contracts/state.ts";
import type { SourceProfile } from "../contracts/profile.ts";
import { instant, milliseconds } from "../contracts/units.ts";
import { ControlCore } from "./core.ts";
import { controlTick } from "./tick.ts";

const QUESTION = 0xcafe_0001;

const source: SourceProfile = {
  id: "joints",
  kind: "proprio",
  periodNs: milliseconds(5),
  validityNs: milliseconds(15),
  joints: ["joint"],
  measuresVelocity: true,
  measuresEffort: false,
  frame: "",
};

class Rig {
  readonly answers: { word: number; mode: number }[] = [];
  failsToSend = false;
  readonly core: ControlCore;

  constructor() {
    const profile = testProfile([testJoint()], { sources: [source] });
    this.core = new ControlCore({
      profile,
      layout: new StateLayout(profile, profile.sources, ""),
      schemaFingerprint: 1,
      sensor: { observeInto: (snapshot) => snapshot.clear() },
      actuator: {
        send: () => {
          if (this.failsToSend) throw new Error("the actuator broke");
        },
      },
      policy: {
        chunk: new ChunkView(),
        takeChunk: () => false,
        publish: () => undefined,
        beginEpoch: () => undefined,
      },
      cues: { takeCue: () => OperatorCue.None },
      alive: { check: () => 0 },
      ticks: { write: () => undefined },
      evidence: { note: () => undefined },
      estop: {
        beginInto: (signature, tick) => signature.begin(QUESTION, tick, 1),
        answer: (signature, mode) => this.answers.push({ word: signature.earnedAnswer(0), mode }),
      },
      deadlineIsFault: false,
    });
    this.core.prime(instant(0));
  }
}

/** What the chip expects of this tick. */
const expected = (tick: number): number =>
  vectors.tokens.reduce(foldStage, openAnswer(QUESTION, tick * 16));

type Step = (core: ControlCore, made: { command?: CommandView & never }) => void;
const now = instant(0);

// The stages of `controlTick` one by one, for a tick that may not move.
const steps: Readonly<Record<string, Step>> = {
  arrivals: (core) => core.takeArrivals(now),
  observe: (core) => core.robot.observeInto(core.snapshot, now),
  estimate: (core) => core.estimator.estimateInto(core.state, core.snapshot, now),
  judge: (core) => core.gate.watch(core.state, Reason.StaleState),
  supervise: (core) => core.supervisor.step(Reason.StaleState, 0, now),
  approve: (core, made) => {
    const { gate, state, tick, supervisor } = core;
    made.command = gate.approveSafe(state, Reason.StaleState, tick, now, supervisor.mode) as never;
  },
  submit: (core, made) => core.sink.submit(made.command!, core.tick),
};

/** The word of a first tick that runs these stages; undefined when it did not end. */
function wordOf(order: readonly string[]): number | undefined {
  const { core, answers } = new Rig();
  const made: { command?: CommandView & never } = {};
  try {
    for (const name of order) steps[name]!(core, made);
    core.finish(Reason.StaleState, made.command!, now);
  } catch {
    return undefined;
  }
  return answers[0]?.word;
}

test("every whole tick answers with the word the chip expects, and with the mode", () => {
  const { core, answers } = new Rig();
  for (let tick = 0; tick < 5; tick += 1) controlTick(core, instant(tick * 5_000_000));
  expect(answers).toEqual(
    [0, 1, 2, 3, 4].map((tick) => ({ word: expected(tick), mode: Mode.Starting })),
  );
});

test("the stages by hand, in order, are the tick", () => {
  expect(Object.keys(steps)).toEqual(vectors.stages);
  expect(wordOf(vectors.stages)).toBe(expected(0));
});

test("a tick with a stage left out, repeated or exchanged earns no answer", () => {
  const { stages } = vectors;
  for (const [at, stage] of stages.entries()) {
    expect(wordOf(stages.toSpliced(at, 1))).not.toBe(expected(0));
    expect(wordOf(stages.toSpliced(at, 0, stage))).not.toBe(expected(0));
    if (at === 0) continue;
    const swapped = stages.toSpliced(at - 1, 2, stage, stages[at - 1]!);
    expect(wordOf(swapped)).not.toBe(expected(0));
  }
});

test("a tick that throws answers nothing", () => {
  const rig = new Rig();
  rig.failsToSend = true;
  expect(() => controlTick(rig.core, now)).toThrow("the actuator broke");
  expect(rig.answers).toEqual([]);
});
