// A host that is there and not ready, in made-up time: one that loads before its welcome, warms up
// after it, or says either in the middle of a run. It is waited for while it answers pings, and
// given up once that takes longer than any host may.

import { expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { SeededRandom } from "../contracts/seeded-random.ts";
import { instant } from "../contracts/units.ts";
import { EdgeLink } from "./edge-link.ts";
import { facts, hello } from "./fixture.ts";
import { HostMessageSchema, HostStatus_State } from "./generated/policy_pb.js";
import type { HostMessage } from "./generated/policy_pb.js";

const message = (
  body: NonNullable<MessageInitShape<typeof HostMessageSchema>["message"]>,
): HostMessage => create(HostMessageSchema, { message: body });
const loading = message({
  case: "status",
  value: { state: HostStatus_State.LOADING, text: "its policy" },
});
/** What the link sends until `untilS`, each ping answered or not. */
const waited = (
  link: EdgeLink,
  fromS: number,
  untilS: number,
  isAlive: boolean,
  state = HostStatus_State.LOADING,
): string[] => {
  const sent: string[] = [];
  for (let ms = fromS * 1e3; ms <= untilS * 1e3; ms += 10) {
    const nowNs = instant(ms * 1e6);
    link.step(nowNs);
    for (let out = link.takeOutput(); out !== undefined; out = link.takeOutput()) {
      sent.push(out.kind === "send" ? String(out.message.message.case) : out.kind);
      if (out.kind !== "send" || out.message.message.case !== "ping" || !isAlive) continue;
      const { pingId, edgeSentNs } = out.message.message.value;
      const value = { pingId, edgeSentNs, state };
      link.received(message({ case: "pong", value }), nowNs);
    }
  }
  return sent;
};
const greeted = (): EdgeLink => {
  const link = new EdgeLink({
    makeHello: (session) => hello(session),
    random: new SeededRandom(1),
  });
  link.start(instant(0));
  link.opened(instant(0));
  link.received(loading, instant(0));
  return link;
};

test("a host that says it loads is pinged, waited for, and may say welcome a minute later", () => {
  const link = greeted();
  const sent = waited(link, 0, 60, true);
  expect([link.phase, link.text, link.session]).toEqual(["loading", "loading: its policy", 1]);
  expect(sent.slice(0, 3)).toEqual(["dial", "hello", "ping"]);
  const value = { policy: facts(), protocolVersion: 1, linkSession: 1n };
  link.received(message({ case: "welcome", value }), instant(60e9));
  expect(link.phase).toBe("warming");
});

test("one that falls silent then is given up within 750 ms", () => {
  const link = greeted();
  waited(link, 0, 5, true);
  const sent = waited(link, 5.001, 5.751, false);
  expect(sent).toContain("hangUp");
  expect(link.text).toContain("nothing heard for 600 ms");
});

const welcome = message({
  case: "welcome",
  value: { policy: facts(), protocolVersion: 1, linkSession: 1n },
});
const status = (state: HostStatus_State, text: string): HostMessage =>
  message({ case: "status", value: { state, text } });
const { READY, LOADING, WARMING_UP } = HostStatus_State;

/** Waits from `fromS` on until it is hung up; when that was, or NaN. */
const givenUpS = (link: EdgeLink, fromS: number, untilS: number, state = LOADING): number => {
  for (let s = fromS; s < untilS; s += 1) {
    if (waited(link, s, s + 0.99, true, state).includes("hangUp")) return s;
  }
  return Number.NaN;
};

test("one that never ends is given up after 660 s, welcomed or not, and says why", () => {
  const loads = greeted();
  expect(givenUpS(loads, 0, 700)).toBe(660);
  expect(loads.text).toEndWith(": not ready within 660 s (loading: its policy)");
  const warms = greeted();
  expect(givenUpS(warms, 0, 300)).toBeNaN();
  warms.received(welcome, instant(300e9));
  warms.received(status(WARMING_UP, "warming up"), instant(300e9));
  expect(givenUpS(warms, 300, 700, WARMING_UP)).toBe(660);
  expect(warms.text).toEndWith(": not ready within 660 s (warming: warming up)");
});

test.each([
  ["loads", LOADING],
  ["warms up", WARMING_UP],
])(
  "a host %s in the middle of a run: given up 660 s later, if it is not ready before",
  (...row) => {
    const [, state] = row;
    const link = greeted();
    link.received(welcome, instant(1e9));
    link.received(status(READY, ""), instant(1e9));
    expect(givenUpS(link, 1, 1_000, READY)).toBeNaN(); // a host that is ready is never given up
    link.received(status(state, "another model"), instant(1_000e9));
    expect([link.phase, link.isBusy]).toEqual(["warming", false]);
    expect(givenUpS(link, 1_000, 1_600, state)).toBeNaN();
    link.received(status(READY, ""), instant(1_600e9));
    expect(link.phase).toBe("ready");
    link.received(status(state, "another model"), instant(1_601e9));
    expect(givenUpS(link, 1_601, 3_000, state)).toBe(1_601 + 660);
    expect(link.text).toEndWith(": not ready within 660 s (warming: another model)");
    expect(waited(link, 2_263, 2_264, false)).toContain("dial");
  },
);

test("no welcome at all is known as that", () => {
  const link = new EdgeLink({ makeHello: hello, random: new SeededRandom(1) });
  link.start(instant(0));
  link.opened(instant(0));
  expect(waited(link, 0, 1, false)).toEqual(["dial", "hello", "hangUp"]);
  expect(link.text).toBe("waiting: no welcome within 1000 ms");
});
