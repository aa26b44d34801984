// Which thread a robot is served by on a host, in made-up time: one that is warm is kept for a
// robot that comes back, one that owes an answer for too long or has ended is not. What loads for
// long is told, and given up.

import { describe, expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { instant } from "../contracts/units.ts";
import { facts, hello } from "../link/fixture.ts";
import { HostStatus_State, ObservationSchema } from "../link/generated/policy_pb.js";
import type { PolicyFacts } from "../link/generated/policy_pb.js";
import type { HostPolicy, HostPolicyEvents } from "../link/grpc-host.ts";
import { loadRobot, loadTask } from "../profile/load.ts";
import type { FromHostPolicy } from "../workers/host-policy.worker.ts";
import { HostPolicyThreads, openHostPolicy } from "./policy-host.ts";

const plan = { robot: loadRobot("so101"), task: loadTask("none"), policy: "sine", promiseNs: 0 };
const observation = create(ObservationSchema, {});
const silent: HostPolicyEvents = {
  made: () => undefined,
  status: () => undefined,
  refused: () => undefined,
  decided: () => undefined,
};

class Host {
  nowS = 0;
  /** How each thread that was started stands, in order. */
  readonly threads: ("lives" | "ended")[] = [];
  /** What the host's terminal shows, and what the robot is told of its acts. */
  readonly notes: string[] = [];
  readonly told: string[] = [];
  #answer: (message: FromHostPolicy) => void = () => undefined;
  #die: (why: string) => void = () => undefined;
  readonly #threads = new HostPolicyThreads(
    (_, onMessage, onEnd) => {
      const index = this.threads.push("lives") - 1;
      this.#answer = onMessage;
      this.#die = onEnd;
      return { post: () => undefined, terminate: () => (this.threads[index] = "ended") };
    },
    () => instant(this.nowS * 1e9),
    (text) => this.notes.push(text),
  );

  robot(events: Partial<HostPolicyEvents> = {}): HostPolicy {
    const decided = (_: unknown, trouble: string): void => void this.told.push(trouble);
    return this.#threads.take(plan, { ...silent, decided, ...events });
  }
  preload(): Promise<PolicyFacts> {
    return this.#threads.preload(plan);
  }
  /** Looks at what loads once a second, until then. */
  wait(untilS: number): void {
    for (; this.nowS < untilS; this.nowS += 1) this.#threads.step();
    this.#threads.step();
  }
  says(message: FromHostPolicy): void {
    this.#answer(message);
  }
  answers(trouble = ""): void {
    this.#answer({ kind: "decided", decision: null, trouble });
  }
  dies(): void {
    this.#die("it left");
  }
}

test("a robot that comes back finds its thread, if that owes no answer for long", () => {
  const host = new Host();
  const robot = host.robot();
  robot.act(observation);
  host.nowS = 9.9;
  robot.close();
  host.robot().close();
  expect(host.threads).toEqual(["lives"]);
  host.answers();
  host.nowS = 100;
  host.robot().act(observation);
  expect(host.threads).toEqual(["lives"]);
});

test("one that has owed an answer for 10 s is ended as its robot leaves", () => {
  const host = new Host();
  const robot = host.robot();
  robot.act(observation);
  host.nowS = 10;
  robot.close();
  expect(host.threads).toEqual(["ended"]);
  host.robot();
  expect(host.threads).toEqual(["ended", "lives"]);
});

test("or as it comes back, when it left before that", () => {
  const host = new Host();
  const robot = host.robot();
  robot.act(observation);
  host.nowS = 1;
  robot.close();
  expect(host.threads).toEqual(["lives"]);
  host.nowS = 11;
  host.robot();
  expect(host.threads).toEqual(["ended", "lives"]);
});

test("one that answers in time again owes nothing of before", () => {
  const host = new Host();
  const robot = host.robot();
  for (let act = 0; act < 5; act += 1) {
    robot.act(observation);
    host.nowS += 6;
    host.answers();
  }
  robot.close();
  host.robot();
  expect(host.threads).toEqual(["lives"]);
});

test("what an act threw reaches the robot, and the host's terminal once a text and second", () => {
  const host = new Host();
  const robot = host.robot();
  const troubles = ["act threw: a", "act threw: a", "", "act threw: b", "act threw: a"];
  for (const trouble of troubles) {
    robot.act(observation);
    host.nowS += 0.4;
    host.answers(trouble);
  }
  expect(host.told).toEqual(troubles);
  expect(host.notes).toEqual(["act threw: a; nothing was sent", "act threw: b; nothing was sent"]);
});

test("what acts throw anew each time is told ever more rarely, and the last of it once", () => {
  const host = new Host();
  const robot = host.robot();
  host.says({ kind: "made", facts: facts() });
  host.says({ kind: "ready" });
  for (let act = 0; act < 200; act += 1) {
    host.nowS = act / 20;
    robot.act(observation);
    host.answers(`act threw: ${act}`);
  }
  host.wait(100);
  expect(host.notes).toEqual([
    "act threw: 0; nothing was sent",
    "… 19 more such notes, the last: act threw: 19; nothing was sent",
    "act threw: 20; nothing was sent",
    "… 39 more such notes, the last: act threw: 59; nothing was sent",
    "act threw: 60; nothing was sent",
    "… 79 more such notes, the last: act threw: 139; nothing was sent",
    "act threw: 140; nothing was sent",
    "… 59 more such notes, the last: act threw: 199; nothing was sent",
  ]);
});

test("a decision that nobody asked for is no message of the thread's", () => {
  const host = new Host();
  const robot = host.robot();
  host.answers("act threw: a");
  robot.act(observation);
  host.answers("act threw: b");
  expect([host.told, host.notes]).toEqual([["act threw: b"], ["act threw: b; nothing was sent"]]);
});

test("one that ended while nobody was there is not given to the next robot", () => {
  const host = new Host();
  host.robot().close();
  host.dies();
  host.robot();
  expect(host.threads).toEqual(["lives", "lives"]);
});

const still = (s: number, what: string): string =>
  `policy sine for so101 still loads after ${s} s: ${what}; given up after 600 s`;
const MODULE = "its module and createPolicy";
const WARM_UP = "its first reset and act";

/** What the robot is told, in order. */
function listening(): { readonly told: string[]; readonly events: HostPolicyEvents } {
  const told: string[] = [];
  const events: HostPolicyEvents = {
    ...silent,
    made: () => told.push("made"),
    status: (state, text) => told.push(`${HostStatus_State[state]} ${text}`),
    refused: (...parts) => told.push(parts.join(" | ")),
  };
  return { told, events };
}

describe("a policy that loads", () => {
  test("is told after 2 s and as that doubles, by what it is at", () => {
    const host = new Host();
    host.robot();
    host.wait(1);
    expect(host.notes).toEqual([]);
    host.wait(10);
    host.says({ kind: "made", facts: facts() });
    host.wait(40);
    const module = [2, 4, 8].map((s) => still(s, MODULE));
    expect(host.notes).toEqual([...module, ...[16, 32].map((s) => still(s, WARM_UP))]);
    host.says({ kind: "ready" });
    host.wait(5_000);
    expect(host.notes.length).toBe(5);
    expect(host.threads).toEqual(["lives"]);
  });

  test("tells its robot that it does", async () => {
    const host = new Host();
    const { told, events } = listening();
    host.robot(events);
    await Promise.resolve();
    host.says({ kind: "made", facts: facts() });
    host.says({ kind: "ready" });
    expect(told).toEqual(["LOADING its policy", "made", "WARMING_UP warming up", "READY "]);
  });

  test.each([
    ["its module", false, MODULE],
    ["its warm-up", true, WARM_UP],
  ])("and hangs in %s is ended after 600 s, and its robot refused", (_, isMade, what) => {
    const host = new Host();
    const { told, events } = listening();
    host.robot(events);
    if (isMade) host.says({ kind: "made", facts: facts() });
    host.wait(599);
    expect(host.threads).toEqual(["lives"]);
    host.wait(600);
    const why = `it was not ready within 600 s (${what})`;
    expect(host.threads).toEqual(["ended"]);
    expect(host.notes.at(-1)).toBe(`policy ended: ${why}`);
    expect(told.at(-1)).toBe(`policy | a policy that runs | ${why} | look at the host's terminal`);
    host.robot();
    expect(host.threads).toEqual(["ended", "lives"]);
  });
});

describe("a policy that is loaded before any robot is there", () => {
  test("is the first one's", async () => {
    const host = new Host();
    const loaded = host.preload();
    const made = facts({ name: "mine" });
    host.says({ kind: "made", facts: made });
    host.says({ kind: "ready" });
    expect(await loaded).toBe(made);
    host.robot();
    expect(host.threads).toEqual(["lives"]);
  });

  test("and ends or hangs is an error and no note", async () => {
    const dies = new Host();
    const dead = dies.preload();
    dies.dies();
    expect(dead).rejects.toThrow("Cannot start the policy thread: it left");
    const hangs = new Host();
    const hung = hangs.preload();
    hangs.wait(600);
    expect(hung).rejects.toThrow("it was not ready within 600 s");
    expect(dies.notes).toEqual([]);
    expect(hangs.notes.every((note) => note.includes("still loads"))).toBe(true);
    expect(hangs.threads).toEqual(["ended"]);
    await Promise.allSettled([dead, hung]);
  });
});

describe("a robot that no profile here is for", () => {
  /** What becomes of a robot that names these. */
  async function refusalOf(robot: string, taskName: string): Promise<string[]> {
    const told: string[] = [];
    const events = { ...silent, refused: (...parts: string[]) => void told.push(...parts) };
    const threads = new HostPolicyThreads(noThread, () => instant(0), noThread);
    const hosted = { policy: "sine", robot: undefined, task: undefined, promiseNs: 0 };
    openHostPolicy(threads, hosted, hello(1n, { robot, taskName }), events);
    await Promise.resolve();
    return told;
  }
  const noThread = (): never => {
    throw new Error("no thread was expected");
  };

  test.each([
    ["so102", "none"],
    ["so101", "nothing"],
    // A stranger does not say which files are read here, though these are there.
    ["profiles/so101.yaml", "none"],
    ["so101", "profiles/tasks/none.yaml"],
  ])("is refused: %s, %s", async (robot, task) => {
    const [field, , found] = await refusalOf(robot, task);
    expect([field, found]).toEqual(["robot", `robot ${robot}, task ${task}`]);
  });
});
