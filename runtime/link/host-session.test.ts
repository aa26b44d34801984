// A host's session alone: what it says of its policy's trouble, before the answer, as it changes,
// and never longer than a person reads; and when it takes a robot for gone. The rest is tested with
// an edge.

import { expect, test } from "bun:test";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { instant } from "../contracts/units.ts";
import { facts, hello } from "./fixture.ts";
import { EdgeMessageSchema, HostMessageSchema, HostStatus_State } from "./generated/policy_pb.js";
import { HostSession } from "./host-session.ts";
import { HOST_LOOK_MS, SILENT_LOOK_COUNT_MAX, TEXT_CHARACTERS_MAX } from "./limits.ts";

/** What is sent for an act that ended like this, by kind and with the text of a status. */
function sentFor(session: HostSession, trouble: string, nowNs: number): string[] {
  const observation = { linkSession: 1n, observationId: 1n, epoch: 1n };
  const message = { case: "observation", value: observation } as const;
  session.received(create(EdgeMessageSchema, { message }), instant(nowNs));
  while (session.takeOutput() !== undefined);
  session.decided(null, trouble, instant(nowNs));
  const sent: string[] = [];
  for (let out = session.takeOutput(); out !== undefined; out = session.takeOutput()) {
    if (out.kind !== "send") continue;
    const { case: kind, value } = out.message.message;
    sent.push(kind === "status" ? `${HostStatus_State[value.state]} ${value.text}` : String(kind));
  }
  return sent;
}

test("a trouble goes before the answer, once, and is cut", () => {
  const session = new HostSession({});
  const message = { case: "hello", value: hello(1n) } as const;
  session.received(create(EdgeMessageSchema, { message }), instant(0));
  session.welcome(facts());
  session.status(HostStatus_State.READY, "");
  const long = "x".repeat(3 << 20); // no edge would take a message of this size
  expect([sentFor(session, long, 0), sentFor(session, long, 2e9)]).toEqual([
    [`READY ${"x".repeat(TEXT_CHARACTERS_MAX)}`, "chunk"],
    ["chunk"],
  ]);
});

test("what is too large for the wire arrives as no number, and is refused as that", () => {
  const session = new HostSession({});
  const hear = (message: Parameters<typeof create<typeof EdgeMessageSchema>>[1]): void => {
    session.received(create(EdgeMessageSchema, message), instant(0));
    while (session.takeOutput() !== undefined);
  };
  hear({ message: { case: "hello", value: hello(1n) } });
  session.welcome(facts());
  hear({
    message: { case: "observation", value: { linkSession: 1n, observationId: 1n, epoch: 1n } },
  });
  const rows = [0.5, 1e300, -1e39];
  const head = { horizon: 1, dtNs: 1e6, startOffsetNs: undefined, inferenceNs: 0 };
  session.decided({ ...head, rows }, "", instant(0));
  const out = session.takeOutput();
  const sent = out?.kind === "send" ? toBinary(HostMessageSchema, out.message) : new Uint8Array(0);
  const { message } = fromBinary(HostMessageSchema, sent);
  expect(message).toMatchObject({ case: "chunk", value: { values: [0.5, Infinity, -Infinity] } });
});

test("a robot that says nothing for 750 ms of looks is gone, whatever it said before", () => {
  expect(HOST_LOOK_MS * SILENT_LOOK_COUNT_MAX).toBe(750);
  const session = new HostSession({});
  const look = (count: number): void => {
    for (let at = 0; at < count; at += 1) session.look();
  };
  const says = [
    { case: "hello", value: hello(1n) },
    { case: "ping", value: { pingId: 1n, edgeSentNs: 0n } },
    { case: "receipt", value: { linkSession: 1n, observationId: 1n, accepted: true, code: "" } },
  ] as const;
  for (const message of says) {
    look(SILENT_LOOK_COUNT_MAX - 1);
    // However late that is: a host that was stopped looked at nobody meanwhile.
    session.received(create(EdgeMessageSchema, { message }), instant(3_600e9));
    for (let out = session.takeOutput(); out; out = session.takeOutput()) {
      expect(out.kind).not.toBe("end");
    }
  }
  look(SILENT_LOOK_COUNT_MAX - 1);
  expect(session.takeOutput()).toBeUndefined();
  look(1);
  expect(session.takeOutput()).toEqual({ kind: "end" });
  look(SILENT_LOOK_COUNT_MAX);
  expect(session.takeOutput()).toBeUndefined();
});
