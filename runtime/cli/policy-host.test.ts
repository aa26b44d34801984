// Which thread a robot is served by on a host, in made-up time: one that is warm is kept for a
// robot that comes back, one that owes an answer for too long or has ended is not.

import { expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { instant } from "../contracts/units.ts";
import { ObservationSchema } from "../link/generated/policy_pb.js";
import type { HostPolicy, HostPolicyEvents } from "../link/grpc-host.ts";
import { loadRobot, loadTask } from "../profile/load.ts";
import type { FromHostPolicy } from "../workers/host-policy.worker.ts";
import { HostPolicyThreads } from "./policy-host.ts";

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
  );

  robot(): HostPolicy {
    const decided = (_: unknown, trouble: string): void => void this.told.push(trouble);
    const note = (text: string): void => void this.notes.push(text);
    return this.#threads.take(plan, { ...silent, decided }, note);
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

test("one that ended while nobody was there is not given to the next robot", () => {
  const host = new Host();
  host.robot().close();
  host.dies();
  host.robot();
  expect(host.threads).toEqual(["lives", "lives"]);
});
