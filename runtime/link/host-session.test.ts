// What a host's session says of its policy's trouble, alone: before the answer, as it changes, and
// never longer than a person reads, whatever was thrown. The rest is tested with an edge.

import { expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { instant } from "../contracts/units.ts";
import { facts, hello } from "./fixture.ts";
import { EdgeMessageSchema, HostStatus_State } from "./generated/policy_pb.js";
import { HostSession } from "./host-session.ts";
import { TEXT_CHARACTERS_MAX } from "./limits.ts";

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
