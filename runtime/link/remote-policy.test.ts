// RemotePolicy over both ends of a link in virtual time: a request an act, ids by the order of the
// requests, what comes of every kind of answer, and what it says of itself.

import { expect, test } from "bun:test";
import { ChunkSlot } from "../contracts/action.ts";
import type { ChunkView } from "../contracts/action.ts";
import { Evidence } from "../contracts/evidence.ts";
import type { Anchoring } from "../contracts/profile.ts";
import { SequenceAllocator } from "../contracts/policy.ts";
import { StateLayout, StateSlot, StateView } from "../contracts/state.ts";
import { instant } from "../contracts/units.ts";
import { loadRobot } from "../profile/load.ts";
import { CALM, facts, HORIZON, JOINTS, VirtualLink } from "./fixture.ts";
import { RemotePolicy } from "./remote-policy.ts";

const robot = loadRobot("document-one");
const joints = JOINTS.map((name) => ({ ...robot.joints[0]!, name }));
const layout = new StateLayout({ ...robot, joints }, robot.sources, "");

class World {
  readonly link = new VirtualLink(1);
  readonly policy: RemotePolicy;
  readonly state = new StateView(new Float64Array(layout.slotCount), layout);
  hungUp = false;
  #read = 0;

  constructor(promiseNs = 0, waitsForEver = false, anchoring: Anchoring = "observation") {
    const told = facts({ latencyNsP99: BigInt(promiseNs) });
    this.link.facts = told;
    this.policy = new RemotePolicy(told, {
      link: this.link.link,
      pump: () => undefined, // the virtual link serves every millisecond
      hangUp: () => {
        this.hungUp = true;
      },
      nowNs: () => this.link.nowNs,
      pictures: undefined,
      anchoring,
      waitsForEver,
    });
    this.policy.reset(1, new SequenceAllocator(1));
    this.run(100);
  }

  run(ms: number): void {
    this.link.run(this.link.nowNs + ms * 1e6, () => this.#deliver());
    this.#deliver();
  }

  #deliver(): void {
    const { answers } = this.link;
    for (; this.#read < answers.length; this.#read += 1) this.policy.answered(answers[this.#read]!);
  }

  /** Acts on a state that is 5 ms old and lets `ms` go by; what came. */
  async act(ms = 60): Promise<ChunkView | null | "pending"> {
    const { nowNs } = this.link;
    this.state.record[StateSlot.stampNs] = nowNs - 5e6;
    const answer = this.policy.act(this.state, instant(nowNs));
    this.run(ms);
    return Promise.race([answer, Promise.resolve("pending" as const)]);
  }
}

test("a decision carries the epoch, the next id and the stamp of its state", async () => {
  const world = new World();
  const stampNs = world.link.nowNs - 5e6;
  const first = (await world.act()) as ChunkView;
  expect([first.epoch, first.seq, Number(first.stateStampNs)]).toEqual([1, 1, stampNs]);
  expect([first.horizon, first.width]).toEqual([HORIZON, 2]);
  const second = (await world.act()) as ChunkView;
  expect(second.seq).toBe(2);
  expect(world.policy.statusText).toBe("connected");
});

test("a new epoch asks once the host is free; in lockstep nothing grows old: at once", () => {
  for (const waitsForEver of [false, true]) {
    const world = new World(0, waitsForEver);
    const asked = (): boolean => world.policy.act(world.state, world.link.nowNs) !== null;
    world.state.record[StateSlot.stampNs] = world.link.nowNs;
    world.link.inferenceNs = 50e6;
    expect(asked()).toBe(true);
    world.policy.reset(2, new SequenceAllocator(2));
    expect(asked()).toBe(waitsForEver);
  }
});

test("a state older than all rows of an answer is not asked about; no id is used up", async () => {
  const world = new World();
  const { nowNs } = world.link;
  world.state.record[StateSlot.stampNs] = nowNs - 1e9;
  expect(world.policy.act(world.state, nowNs)).toBeNull();
  expect(world.policy.statusText).toContain("older than the host's rows");
  expect(((await world.act()) as ChunkView).seq).toBe(1);
});

test("without a link there is no decision at once, and no id is used up", async () => {
  const world = new World();
  world.link.isDown = true;
  world.link.cut("UNAVAILABLE");
  expect(world.policy.act(world.state, world.link.nowNs)).toBeNull();
  expect(world.policy.statusText).toContain("UNAVAILABLE");
  world.link.isDown = false;
  world.run(500);
  expect(((await world.act()) as ChunkView).seq).toBe(1);
});

test("an answer that does not come in time is no decision, and says so", async () => {
  const world = new World();
  world.link.inferenceNs = 500e6;
  expect(await world.act(90)).toBeNull(); // four rows of 20 ms
  expect(world.policy.statusText).toBe("no decision: no answer in time");
});

test("a host that decided nothing is no fault", async () => {
  const world = new World();
  world.link.decides = false;
  expect(await world.act()).toBeNull();
  expect(world.policy.statusText).toBe("connected");
});

const IT_DECIDES_NOTHING = "the host's policy decides nothing";

test("why the host's policy decides nothing is told until it decides again", async () => {
  const world = new World();
  world.link.decides = false;
  world.link.trouble = "act threw: no model\u001b[2J";
  expect(await world.act()).toBeNull();
  const told = `${IT_DECIDES_NOTHING}: act threw: no model?[2J`;
  expect([world.policy.statusText, world.policy.trouble]).toEqual([told, told]);
  world.link.trouble = "";
  expect(await world.act()).toBeNull(); // it says no more, and still decides nothing
  world.run(1_000);
  expect(world.policy.statusText).toBe(told);
  world.link.decides = true;
  await world.act();
  expect([world.policy.statusText, world.policy.trouble]).toEqual(["connected", ""]);
});

test("a trouble that is new at every act is heard once a second, and the last of it", async () => {
  const world = new World();
  const { link } = world;
  link.decides = false;
  const told: string[] = [];
  for (let act = 0; act < 50; act += 1) {
    link.trouble = `${act} ${"x".repeat(5_000)}`;
    await world.act(100);
    const number = /: (\d+) x{290}/.exec(world.policy.statusText)?.[1] ?? "none";
    if (number !== told.at(-1)) told.push(number);
  }
  expect(told).toEqual(["0", "10", "20", "30", "40"]);
  world.run(1_000); // nothing is asked: a ping brings it
  expect(world.policy.statusText).toStartWith(`${IT_DECIDES_NOTHING}: 49 x`);
});

test("a host that comes back is not blamed for what it said before", async () => {
  const world = new World();
  world.link.decides = false;
  world.link.trouble = "act threw: no model";
  await world.act();
  world.link.cut("UNAVAILABLE");
  expect(world.policy.statusText).toBe("waiting: UNAVAILABLE");
  world.link.readyNs = world.link.nowNs + 400e6;
  world.run(398);
  world.link.weather = { ...CALM, lossRatio: 1 }; // its status is lost, and a pong makes it good
  world.run(4);
  world.link.weather = CALM;
  world.run(300);
  expect(world.policy.statusText).toBe("connected");
  await world.act();
  expect(world.policy.statusText).toBe(`${IT_DECIDES_NOTHING}: act threw: no model`);
});

test("a chunk that is not as the handshake said is refused, told and counted", async () => {
  const world = new World();
  world.link.valueRad = Number.NaN;
  expect(await world.act()).toBeNull();
  expect(world.policy.statusText).toBe("the host's chunk was refused: not_finite");
  expect(world.policy.refusals.get("not_finite")).toBe(1);
  world.run(5);
  expect(world.link.session?.counts.receipts.get("not_finite")).toBe(1);
});

test("the buffer's verdict reaches the host, once", async () => {
  const world = new World();
  await world.act();
  world.policy.receipt(Evidence.Accepted, 1, 1, world.link.nowNs);
  world.policy.receipt(Evidence.Activated, 1, 1, world.link.nowNs); // no verdict
  world.policy.receipt(Evidence.Accepted, 1, 7, world.link.nowNs); // not of its chunk
  world.run(5);
  expect([...(world.link.session?.counts.receipts ?? [])]).toEqual([["accepted", 1]]);
});

/** What the newest question tells of the rows that are still to come. */
function toldRows(world: World): number[] {
  const asked = world.link.observations.at(-1)!;
  expect(asked.bufferedRows.length).toBe(asked.bufferedRowCount * JOINTS.length);
  return asked.bufferedRows.filter((_, at) => at % JOINTS.length === 0);
}

test("an observation tells the rows still to come and how long answers take", async () => {
  const world = new World();
  await world.act(45); // a row of 20 ms and its share have gone by since the stamp
  world.policy.receipt(Evidence.Accepted, 1, 1, world.link.nowNs);
  void world.act(5);
  const asked = world.link.observations.at(-1)!;
  expect(toldRows(world)).toEqual([0.5, 0.5]);
  expect(Number(asked.measuredDelayNs)).toBeGreaterThan(30e6);
  expect(Number(asked.sinceResetNs)).toBe(45e6);
});

test("rows of what the buffer has not taken, or refused, are told to nobody", async () => {
  const world = new World();
  await world.act(35);
  await world.act(35);
  expect(toldRows(world)).toEqual([]); // no verdict yet
  world.policy.receipt(Evidence.RejectedOutOfOrder, 1, 1, world.link.nowNs);
  await world.act(35);
  expect(toldRows(world)).toEqual([]);
  world.link.valueRad = 0.9;
  await world.act(35);
  world.policy.receipt(Evidence.Accepted, 1, 3, instant(world.link.nowNs - 35e6));
  world.policy.receipt(Evidence.RejectedWindowOver, 1, 4, world.link.nowNs);
  void world.act(5);
  expect(toldRows(world)).toEqual([0.5]); // of the third: 75 ms have gone by since its stamp
  world.policy.receipt(Evidence.RejectedStartMismatch, 1, 3, world.link.nowNs); // by the gate
  world.run(35);
  void world.act(5);
  expect(toldRows(world)).toEqual([]);
});

test("where a profile lets chunks begin as they arrive, so do the rows that are told", async () => {
  const world = new World(0, false, "arrival");
  await world.act(45);
  world.policy.receipt(Evidence.Accepted, 1, 1, instant(world.link.nowNs - 5e6));
  void world.act(5);
  expect(toldRows(world)).toEqual([0.5, 0.5, 0.5, 0.5]);
});

test("a verdict of an epoch that is over places nothing", async () => {
  const world = new World();
  await world.act(45);
  world.policy.reset(2, new SequenceAllocator(2));
  world.policy.receipt(Evidence.Accepted, 1, 1, world.link.nowNs);
  await world.act(45);
  expect(toldRows(world)).toEqual([]);
});

test("answers slower than promised are told after four of them", async () => {
  const world = new World(20e6);
  const slow: boolean[] = [];
  for (let act = 0; act < 5; act += 1) {
    await world.act();
    slow.push(world.policy.isSlow);
  }
  expect(slow).toEqual([false, false, false, true, true]);
  expect(world.policy.statusText).toContain("longer than the 20 ms that the host promised");
  world.link.inferenceNs = 1e6;
  for (let act = 0; act < 8; act += 1) await world.act();
  expect(world.policy.isSlow).toBe(false);
});

test("a new epoch abandons what was asked, and begins anew with the ids", async () => {
  const world = new World();
  world.state.record[StateSlot.stampNs] = world.link.nowNs;
  const before = world.policy.act(world.state, world.link.nowNs);
  world.policy.reset(2, new SequenceAllocator(2));
  expect(await before).toBeNull();
  world.run(100);
  const chunk = (await world.act()) as ChunkView;
  expect([chunk.record[ChunkSlot.epoch], chunk.seq]).toEqual([2, 1]);
});

test("the end of the run hangs up", () => {
  const world = new World();
  world.policy.close();
  expect(world.hungUp).toBe(true);
});
