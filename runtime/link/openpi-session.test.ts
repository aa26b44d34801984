// Our end of an openpi connection in virtual time, against a server that answers late, never,
// twice, unasked, in text or in nonsense. What must hold: an answer belongs to its own question,
// nothing late is used, a dead server is known within 750 ms and asked soon after its return.

import { describe, expect, test } from "bun:test";
import vectors from "../../firmware-tests/vectors/openpi.json" with { type: "json" };
import { SeededRandom } from "../contracts/seeded-random.ts";
import { instant } from "../contracts/units.ts";
import type { Instant } from "../contracts/units.ts";
import { encodeMessage, float32Array } from "./openpi-codec.ts";
import { errorLine, OPENPI_ANSWER_NS_MAX, OpenpiSession } from "./openpi-session.ts";
import type { OpenpiAnswer } from "./openpi-session.ts";

type Frame = Uint8Array | string;
/** What the server says to a question, and how long after it; nothing at all where it is empty. */
type Reply = readonly { readonly afterNs: number; readonly frame: Frame }[];

const METADATA = Buffer.from(vectors.metadata, "hex");
const answerOf = (value: number): Uint8Array => encodeMessage({ actions: float32Array([value]) });
const promptly = (question: Uint8Array): Reply => [
  { afterNs: 30e6, frame: answerOf(question[0]!) },
];

type Parcel = { readonly dueNs: number; readonly connection: number; readonly deliver: () => void };

class VirtualServer {
  readonly session: OpenpiSession;
  readonly answers: { readonly answer: OpenpiAnswer; readonly atNs: number }[] = [];
  readonly dialsNs: number[] = [];
  reply: (question: Uint8Array) => Reply = promptly;
  /** Empty: it does not greet. */
  greeting: Frame;
  lastHeardNs = 0;
  isDown = false;
  /** The whole machine is unplugged: nothing comes, not even a closed connection. */
  isGone = false;
  nowNs: Instant = instant(0);
  #connection = 0;
  #parcels: Parcel[] = [];

  constructor(seed: number, greeting: Frame = METADATA) {
    this.greeting = greeting;
    this.session = new OpenpiSession(new SeededRandom(seed));
    this.session.start(this.nowNs);
    this.#serve();
  }

  run(untilNs: number, each: () => void = () => undefined): void {
    while (this.nowNs < untilNs) {
      this.nowNs = instant(this.nowNs + 1e6);
      const due = this.#parcels.filter((parcel) => parcel.dueNs <= this.nowNs);
      this.#parcels = this.#parcels.filter((parcel) => parcel.dueNs > this.nowNs);
      for (const parcel of due.toSorted((a, b) => a.dueNs - b.dueNs)) {
        // A socket that was hung up hears nothing.
        if (parcel.connection === this.#connection && !this.isGone) parcel.deliver();
        this.#serve();
      }
      this.session.step(this.nowNs);
      each();
      this.#serve();
    }
  }

  /** Asks about `value` with a second to answer, as a policy does that is ready. */
  ask(value: number, leftNs = 320e6): number | undefined {
    return this.session.request(Uint8Array.of(value), instant(this.nowNs + leftNs));
  }

  kill(): void {
    this.isDown = true;
    this.#connection = 0;
    this.session.closed("the connection was closed (code 1006)", this.nowNs);
    this.#serve();
  }

  #serve(): void {
    const { session } = this;
    for (let out = session.takeOutput(); out !== undefined; out = session.takeOutput()) {
      if (out.kind === "hangUp") this.#connection = 0;
      else if (out.kind === "dial") this.#accept();
      else for (const { afterNs, frame } of this.reply(out.bytes)) this.#say(afterNs, frame);
    }
    for (let answer = session.takeAnswer(); answer !== undefined; answer = session.takeAnswer()) {
      this.answers.push({ answer, atNs: this.nowNs });
    }
  }

  #accept(): void {
    this.dialsNs.push(this.nowNs);
    this.#connection = this.session.connection;
    if (this.isDown) {
      this.#post(1e6, () => this.session.closed("cannot connect", this.nowNs));
      return;
    }
    this.#post(1e6, () => this.session.opened());
    if (this.greeting) this.#say(2e6, this.greeting);
  }

  #say(afterNs: number, frame: Frame): void {
    this.#post(afterNs, () => {
      this.lastHeardNs = this.nowNs;
      if (typeof frame === "string") this.session.receivedText(frame, this.nowNs);
      else this.session.received(frame, this.nowNs);
    });
  }

  #post(afterNs: number, deliver: () => void): void {
    const dueNs = this.nowNs + afterNs;
    this.#parcels.push({ dueNs, connection: this.#connection, deliver });
  }
}

function readyServer(seed = 1): VirtualServer {
  const server = new VirtualServer(seed);
  server.run(10e6);
  expect(server.session.phase).toBe("ready");
  return server;
}

const values = (server: VirtualServer): number[] =>
  server.answers.flatMap(({ answer }) => ("actions" in answer ? [...answer.actions.values] : []));

test("the server speaks first, and nothing is asked before", () => {
  const server = new VirtualServer(1, "");
  server.run(899e6);
  expect(server.session.phase).toBe("greeting");
  expect(server.ask(1)).toBeUndefined();
  server.run(901e6);
  expect(server.session.trouble).toBe("no metadata within 900 ms");
});

test("question and answer alternate", () => {
  const server = readyServer();
  expect(server.ask(7)).toBe(1);
  expect(server.ask(8)).toBeUndefined();
  server.run(server.nowNs + 40e6);
  expect(values(server)).toEqual([7]);
  expect(server.ask(8)).toBe(2);
  server.run(server.nowNs + 40e6);
  expect(values(server)).toEqual([7, 8]);
  expect(server.session.connection).toBe(1);
});

test("a late answer is nobody's: the connection ends at the deadline, to the millisecond", () => {
  const server = readyServer();
  server.reply = ([value]) => [{ afterNs: 321e6, frame: answerOf(value!) }];
  const askedNs = server.nowNs;
  server.ask(7);
  server.run(askedNs + 319e6);
  expect(server.session.isBusy).toBe(true);
  server.run(askedNs + 320e6);
  expect(server.answers).toEqual([
    {
      answer: { requestId: 1, failure: { expected: "", found: "no answer in time" } },
      atNs: askedNs + 320e6,
    },
  ]);
  server.run(askedNs + 400e6);
  expect(server.session.connection).toBe(2);
  server.reply = promptly;
  server.ask(8);
  server.run(server.nowNs + 100e6);
  expect(values(server)).toEqual([8]);
});

const broken: readonly [string, Reply, string][] = [
  [
    "a traceback",
    [
      {
        afterNs: 30e6,
        frame: "Traceback (most recent call last):\n  File \"x.py\", line 3\nKeyError: 'wrist'\n",
      },
    ],
    "the server failed: KeyError: 'wrist'",
  ],
  ["plain text", [{ afterNs: 30e6, frame: "no\nmore" }], "the server failed: no"],
  [
    "garbage",
    [{ afterNs: 30e6, frame: Uint8Array.of(0xc1, 0xff) }],
    "expected an answer: one msgpack map, not deep, found other bytes",
  ],
  [
    "10 MB",
    [{ afterNs: 30e6, frame: new Uint8Array(10_000_000) }],
    "expected an answer: at most 262144 bytes, found 10000000",
  ],
  ["silence", [], "no answer in time"],
];

test.each(broken)("%s ends the connection, is told once, and is mended", (_name, reply, text) => {
  const server = readyServer();
  server.reply = () => reply;
  const troubles: string[] = [];
  const look = (): void => {
    server.ask(7);
    const { trouble } = server.session;
    if (trouble !== troubles.at(-1)) troubles.push(trouble);
  };
  server.run(10_000e6, look);
  expect(troubles).toEqual(["not connected yet", text]);
  expect(values(server)).toEqual([]);
  expect(server.session.connection).toBeGreaterThan(5);
  server.reply = promptly;
  const backNs = server.nowNs;
  server.run(backNs + 2_000e6, look);
  expect(values(server).length).toBeGreaterThan(0);
});

test("an answer without actions, or with other ones, is refused and the connection kept", () => {
  const server = readyServer();
  server.reply = () => [{ afterNs: 30e6, frame: Buffer.from(vectors.no_metadata, "hex") }];
  server.ask(7);
  server.run(server.nowNs + 40e6);
  expect(server.answers[0]!.answer).toEqual({
    requestId: 1,
    failure: { expected: "actions: a numpy array", found: "nothing" },
  });
  expect(server.session.phase).toBe("ready");
  expect(server.session.connection).toBe(1);
});

test("an answer that comes twice is used once, and its copy ends the connection", () => {
  const server = readyServer();
  server.reply = ([value]) => [
    { afterNs: 30e6, frame: answerOf(value!) },
    { afterNs: 31e6, frame: answerOf(value!) },
  ];
  let value = 0;
  server.run(server.nowNs + 2_000e6, () => {
    // A policy asks at its cadence, not in the same millisecond.
    if (Math.round(server.nowNs / 1e6) % 50 !== 0) return;
    value = (value + 1) % 251;
    server.ask(value);
  });
  expect(new Set(values(server)).size).toBe(values(server).length);
  expect(values(server).length).toBeGreaterThan(1);
  expect(server.session.connection).toBeGreaterThan(values(server).length - 1);
});

test("an answer that nobody asked for ends the connection", () => {
  const server = readyServer();
  server.session.received(answerOf(1), server.nowNs);
  expect(server.session.phase).toBe("waiting");
  expect(server.session.trouble).toBe("the server answered what it was not asked");
});

describe("a server that dies", () => {
  const deaths: readonly [
    string,
    (server: VirtualServer) => void,
    (server: VirtualServer) => void,
  ][] = [
    [
      "killed",
      (server) => server.kill(),
      (server) => {
        server.isDown = false;
      },
    ],
    [
      "unplugged",
      (server) => {
        server.isGone = true;
      },
      (server) => {
        server.isGone = false;
      },
    ],
    [
      "frozen",
      (server) => {
        server.reply = () => [];
        server.greeting = "";
      },
      (server) => {
        server.reply = promptly;
        server.greeting = METADATA;
      },
    ],
  ];

  test.each(deaths)("%s: known within 750 ms, a fresh answer soon after", (_name, kill, revive) => {
    for (let phaseMs = 0; phaseMs < 60; phaseMs += 7) {
      const server = readyServer(phaseMs);
      const ask = (): void => {
        const left = OPENPI_ANSWER_NS_MAX;
        if (server.ask(7, left) !== undefined) server.session.used();
      };
      server.run(1_000e6 + phaseMs * 1e6, ask);
      kill(server);
      const diedNs = server.nowNs;
      server.run(diedNs + 40e6, ask); // what was on its way arrives
      server.run(Math.max(diedNs, server.lastHeardNs) + 751e6, ask);
      expect(server.session.phase).not.toBe("ready");
      server.run(diedNs + 6_000e6 + 37e6 * phaseMs, ask);
      const had = values(server).length;
      revive(server);
      const backNs = server.nowNs;
      while (values(server).length === had && server.nowNs < backNs + 4_000e6) {
        server.run(server.nowNs + 1e6, ask);
      }
      expect(server.nowNs - backNs).toBeLessThanOrEqual(2_000e6);
    }
  });
});

test("the pause between dials grows to a second, and shrinks once a decision was used", () => {
  const server = readyServer();
  server.kill();
  server.run(10_000e6);
  const pauses = server.dialsNs.slice(2).map((ns, index) => ns - server.dialsNs[index + 1]!);
  expect(pauses[0]!).toBeLessThan(110e6);
  expect(Math.max(...pauses)).toBeLessThanOrEqual(1_002e6);
  expect(pauses.at(-1)!).toBeGreaterThan(800e6);
  // It is there again, fails each time, and is not hammered.
  server.isDown = false;
  server.reply = () => [{ afterNs: 1e6, frame: "out of memory" }];
  const had = server.dialsNs.length;
  server.run(server.nowNs + 10_000e6, () => server.ask(7));
  expect(server.dialsNs.length - had).toBeLessThan(14);
});

test("a server that came back with other metadata is another: it is not asked", () => {
  const server = readyServer();
  server.greeting = Buffer.from(vectors.no_metadata, "hex");
  server.kill();
  server.isDown = false;
  server.run(server.nowNs + 5_000e6, () => server.ask(7));
  expect(values(server)).toEqual([]);
  expect(server.session.trouble).toContain("other metadata");
  server.greeting = METADATA;
  server.run(server.nowNs + 2_000e6, () => server.ask(7));
  expect(values(server).length).toBeGreaterThan(0);
});

test("a closed session dials no more, and its last question is answered", () => {
  const server = readyServer();
  server.ask(7);
  server.session.close();
  server.run(server.nowNs + 3_000e6);
  expect(server.session.phase).toBe("idle");
  expect(server.answers).toHaveLength(1);
  expect(server.dialsNs).toHaveLength(1);
});

test("in a storm an answer is its own question's, once, in time", () => {
  for (let seed = 0; seed < 30; seed += 1) {
    const random = new SeededRandom(1_000 + seed);
    const server = new VirtualServer(seed);
    server.reply = ([value]) => {
      const afterNs = 5e6 + 400e6 * random.next() ** 3;
      const chance = random.next();
      if (chance < 0.05) return [];
      if (chance < 0.1) return [{ afterNs, frame: "RuntimeError: out of memory" }];
      if (chance < 0.15) return [{ afterNs, frame: Uint8Array.of(0xc1) }];
      return [{ afterNs, frame: answerOf(value!) }];
    };
    const asked = new Map<number, { readonly value: number; readonly atNs: number }>();
    let value = 0;
    server.run(20_000e6, () => {
      if (random.next() < 0.001) server.kill();
      if (random.next() < 0.005) server.isDown = false;
      value = (value + 1) % 251;
      const id = server.ask(value);
      if (id !== undefined) asked.set(id, { value, atNs: server.nowNs });
      server.session.used(); // pauses stay short
    });
    const seen = new Set<number>();
    for (const { answer, atNs } of server.answers) {
      expect(seen.has(answer.requestId)).toBe(false);
      seen.add(answer.requestId);
      const question = asked.get(answer.requestId)!;
      expect(atNs - question.atNs).toBeLessThanOrEqual(321e6);
      if ("actions" in answer) expect([...answer.actions.values]).toEqual([question.value]);
    }
    expect(values(server).length).toBeGreaterThan(50);
  }
});

test("a person reads an error's line, not its cursor movements", () => {
  expect(errorLine("")).toBe("an empty text");
  expect(errorLine("\n\n first \nsecond")).toBe("first");
  expect(errorLine("a\u001b[2Jb")).toBe("a?[2Jb");
  expect(errorLine("x".repeat(1_000_000))).toHaveLength(300);
  expect(
    errorLine(`Traceback (most recent call last):\n${"  File\n".repeat(99_999)}ValueError: 3`),
  ).toBe("ValueError: 3");
});
