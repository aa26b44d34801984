// OpenpiPolicy by hand: a session that is ready, a clock that a test moves. Ids and windows of
// decisions, and every act that comes to nothing.

import { expect, test } from "bun:test";
import vectors from "../../firmware-tests/vectors/openpi.json" with { type: "json" };
import type { ChunkView } from "../contracts/action.ts";
import type { OpenpiMapping } from "../contracts/openpi.ts";
import { SequenceAllocator } from "../contracts/policy.ts";
import { SeededRandom } from "../contracts/seeded-random.ts";
import { StateLayout } from "../contracts/state.ts";
import { instant } from "../contracts/units.ts";
import type { Instant } from "../contracts/units.ts";
import { testState } from "../policy/fixture.ts";
import { loadDeployment } from "../profile/load.ts";
import { OpenpiActions } from "./openpi-actions.ts";
import { encodeMessage } from "./openpi-codec.ts";
import { OpenpiObservation } from "./openpi-observation.ts";
import { OpenpiPolicy } from "./openpi-policy.ts";
import { OpenpiSession } from "./openpi-session.ts";

const deployment = loadDeployment("so101-openpi-positions");
const { robot } = deployment;
const MAPPING: OpenpiMapping = { ...deployment.openpi!, pictures: [] };
const layout = new StateLayout(robot, robot.sources, "");
const [HORIZON, WIDTH] = [50, 6];

class Bench {
  readonly session = new OpenpiSession(new SeededRandom(1));
  readonly policy: OpenpiPolicy;
  nowNs: Instant = instant(1e9);

  constructor(isLockstep = false, executedRowCount = 25) {
    const mapping = { ...MAPPING, executedRowCount };
    this.policy = new OpenpiPolicy({
      session: this.session,
      mapping,
      observation: new OpenpiObservation(mapping, robot, layout, undefined),
      actions: new OpenpiActions(mapping, robot),
      pump: () => undefined,
      hangUp: () => this.session.close(),
      nowNs: () => this.nowNs,
      isLockstep,
    });
    this.session.start(this.nowNs);
    this.session.opened();
    this.session.received(Buffer.from(vectors.no_metadata, "hex"), this.nowNs);
    this.policy.reset(3, new SequenceAllocator(3));
  }

  act(ageNs = 5e6): Promise<ChunkView | null> | null {
    const home = robot.joints.map(({ homeRad }) => homeRad);
    return this.policy.act(testState(layout, home, this.nowNs - ageNs), this.nowNs);
  }

  /** Some time later. */
  wait(ns: number): void {
    this.nowNs = instant(this.nowNs + ns);
    this.session.step(this.nowNs);
    this.#hand();
  }

  answer(value: number, width = WIDTH): void {
    const values = new Float32Array(HORIZON * width).fill(value);
    const bytes = new Uint8Array(values.buffer);
    const actions = { dtype: "<f4", shape: [HORIZON, width], bytes } as const;
    this.session.received(encodeMessage({ actions }), this.nowNs);
    this.#hand();
  }

  #hand(): void {
    for (let answer = this.session.takeAnswer(); answer; answer = this.session.takeAnswer()) {
      this.policy.answered(answer);
    }
  }
}

test("a decision is numbered as it is asked; its window begins at the state's stamp", async () => {
  const bench = new Bench();
  const first = bench.act();
  const stampNs = bench.nowNs - 5e6;
  expect(bench.act()).toBeNull(); // one question at a time
  bench.wait(100e6);
  bench.answer(0.25);
  const chunk = (await first)!;
  expect([chunk.epoch, chunk.seq, chunk.horizon, chunk.width]).toEqual([3, 1, 25, 6]);
  expect(chunk.validFromNs as number).toBe(stampNs);
  expect(chunk.validUntilNs as number).toBe(stampNs + 25 * 20e6);
  expect(bench.policy.statusText).toBe("connected");
  const second = bench.act();
  bench.answer(0.25);
  expect((await second)!.seq).toBe(2);
});

test("an answer to the epoch before decides nothing, and numbers begin anew", async () => {
  const bench = new Bench();
  const old = bench.act();
  bench.policy.reset(4, new SequenceAllocator(4));
  expect(await old).toBeNull();
  expect(bench.act()).toBeNull(); // the old question is still under way
  bench.answer(9);
  const fresh = bench.act();
  bench.answer(0.5);
  const chunk = (await fresh)!;
  expect([chunk.epoch, chunk.seq, chunk.values[0]]).toEqual([4, 1, 0.5]);
});

test("an answer is waited for as long as its window lasts, less the state's age", async () => {
  const bench = new Bench();
  const asked = bench.act(100e6);
  bench.wait(399e6);
  expect(bench.session.isBusy).toBe(true);
  bench.wait(1e6);
  expect(await asked).toBeNull();
  expect(bench.policy.statusText).toBe("no decision: no answer in time");
  expect(bench.act()).toBeNull(); // not connected
});

test("an answer is waited for 750 ms at most, however long its window is", async () => {
  const bench = new Bench(false, 50);
  const asked = bench.act();
  bench.wait(749e6);
  expect(bench.session.isBusy).toBe(true);
  bench.wait(1e6);
  expect(await asked).toBeNull();
});

test("in lockstep it is waited for a minute: no time passes meanwhile", async () => {
  const bench = new Bench(true);
  const asked = bench.act();
  bench.wait(59e9);
  bench.answer(0.25);
  expect((await asked)!.seq).toBe(1);
  const never = bench.act();
  bench.wait(60e9);
  expect(await never).toBeNull();
});

test("rows of another width are told once and used never, until others come", async () => {
  const bench = new Bench();
  const texts = new Set<string>();
  for (let count = 0; count < 3; count += 1) {
    const asked = bench.act();
    bench.answer(0, WIDTH + 1);
    expect(await asked).toBeNull();
    texts.add(bench.policy.statusText);
  }
  expect([...texts]).toEqual(["no decision: expected actions of the shape (50, 6), found (50, 7)"]);
  const asked = bench.act();
  bench.answer(0);
  expect(await asked).not.toBeNull();
  expect(bench.policy.statusText).toBe("connected");
});

test("after the end nothing is asked", async () => {
  const bench = new Bench();
  const asked = bench.act();
  bench.policy.close();
  bench.wait(1e6);
  expect(await asked).toBeNull();
  expect(bench.act()).toBeNull();
  expect(bench.policy.phase).toBe("idle");
});
