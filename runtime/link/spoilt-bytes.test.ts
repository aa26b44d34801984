// Bytes that were spoilt on their way, or on purpose: whatever still decodes as a message, neither
// end of the link throws at it, and what gets as far as a policy or the robot is finite and of its
// size. A hundred thousand drawn changes each way to whole messages of every kind.

import { expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { testJoint, testProfile } from "../../safety/fixture.ts";
import { SeededRandom } from "../contracts/seeded-random.ts";
import { StateLayout, StateView } from "../contracts/state.ts";
import { instant } from "../contracts/units.ts";
import { ChunkCheck } from "./chunk-check.ts";
import { EdgeLink } from "./edge-link.ts";
import { DT_NS, facts, hello, HORIZON, JOINTS, SCHEMA } from "./fixture.ts";
import {
  EdgeMessageSchema,
  HostMessageSchema,
  HostStatus_State,
  ObservationSchema,
} from "./generated/policy_pb.js";
import type { EdgeMessage, HostMessage } from "./generated/policy_pb.js";
import { policyHostService } from "./grpc-service.ts";
import { HostSession } from "./host-session.ts";
import { writeState } from "./host-state.ts";

const ROUNDS = 100_000;
const STRANGE = [0x00, 0x01, 0x7f, 0x80, 0xc0, 0xff];
const { run } = policyHostService;

const layout = new StateLayout(
  testProfile(JOINTS.map((name) => testJoint({ name }))),
  [],
  "pick it up",
);
const seen = {
  epoch: 1n,
  positionRad: [0.1, 0.2],
  commandRad: [0.1, 0.2],
  velocityRadPerS: [1, 2],
  fields: [{ name: "cube_pose", values: [1, 2, 3, 0, 0, 0, 1] }],
  taskText: "pick it up",
};
const observation = create(ObservationSchema, { ...seen, linkSession: 1n, observationId: 1n });
const answer = { linkSession: 1n, observationId: 1n, epoch: 1n };
const rows = Array.from({ length: HORIZON * JOINTS.length }, (_, at) => at / 10);
const chunk = {
  ...answer,
  actionSchemaFingerprint: facts().actionSchemaFingerprint,
  horizon: HORIZON,
  width: JOINTS.length,
  dtNs: BigInt(DT_NS),
  values: rows,
};
const ready = { state: HostStatus_State.READY, text: "" };

const fromEdge = [
  { case: "hello", value: hello(1n) },
  { case: "observation", value: observation },
  { case: "reset", value: { linkSession: 1n, epoch: 2n } },
  { case: "receipt", value: { ...answer, accepted: false, code: "wrong_epoch" } },
  { case: "ping", value: { pingId: 3n, edgeSentNs: 4n } },
  { case: "refusal", value: { field: "horizon", expected: "16", found: "8", remedy: "" } },
] as const;
const fromHost = [
  { case: "welcome", value: { protocolVersion: 1, linkSession: 1n, policy: facts() } },
  { case: "chunk", value: chunk },
  { case: "pong", value: { pingId: 1n, edgeSentNs: 4n, hostReceivedNs: 5n, hostSentNs: 5n } },
  { case: "status", value: ready },
  { case: "refusal", value: { field: "horizon", expected: "16", found: "8", remedy: "" } },
] as const;

/** One to three changes: a byte of its own, a bit, a byte less or more, an end that is missing. */
function spoilt(bytes: Uint8Array, random: SeededRandom): Buffer {
  const below = (count: number): number => Math.floor(random.next() * count);
  const out = [...bytes];
  for (let change = below(3); change >= 0; change -= 1) {
    const at = below(out.length);
    const kind = below(6);
    if (kind === 0) out[at] = below(256);
    else if (kind === 1) out[at] = STRANGE[below(STRANGE.length)]!;
    else if (kind === 2) out[at] = (out[at] ?? 0) ^ (1 << below(8));
    else if (kind === 3) out.splice(at, 1);
    else if (kind === 4) out.splice(at, 0, ...out.slice(at, at + below(9)));
    else out.length = below(out.length + 1);
  }
  return Buffer.from(out);
}

/** The message, or undefined where the transport ends the stream instead. */
function decoded<Message>(read: (bytes: Buffer) => Message, bytes: Buffer): Message | undefined {
  try {
    return read(bytes);
  } catch {
    return undefined;
  }
}

function greeted(): HostSession {
  const session = new HostSession({});
  const message = { case: "hello", value: hello(1n) } as const;
  session.received(create(EdgeMessageSchema, { message }), instant(0));
  session.welcome(facts());
  return session;
}

/** What the session wants done, done; how many states a policy was shown. */
function serve(session: HostSession, state: StateView): number {
  let shownCount = 0;
  for (let out = session.takeOutput(); out !== undefined; out = session.takeOutput()) {
    if (out.kind !== "act") continue;
    if (writeState(state, out.observation, 1, instant(5e9)) === undefined) {
      shownCount += 1;
      const { positionRad, velocityRadPerS, effortNm, command } = state;
      const values = [...positionRad, ...velocityRadPerS, ...effortNm, ...command];
      expect([values.length, values.every(Number.isFinite)]).toEqual([8, true]);
    }
    session.decided(null, "", instant(0));
  }
  return shownCount;
}

test("a host is not thrown by what a robot sends", () => {
  const random = new SeededRandom(41);
  const state = new StateView(new Float64Array(layout.slotCount), layout);
  let readCount = 0;
  let shownCount = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const message = create(EdgeMessageSchema, { message: fromEdge[round % fromEdge.length]! });
    const bytes = spoilt(run.requestSerialize(message), random);
    const read = decoded<EdgeMessage>(run.requestDeserialize, bytes);
    if (read === undefined) continue;
    readCount += 1;
    const session = round % 5 === 0 ? new HostSession({}) : greeted();
    session.received(read, instant(0));
    shownCount += serve(session, state);
  }
  // The draw reached what it is about: messages that decode, and states that a policy sees.
  expect(readCount).toBeGreaterThan(ROUNDS / 8);
  expect(shownCount).toBeGreaterThan(ROUNDS / 200);
  expect(Object.keys(Object.prototype)).toEqual([]);
});

/** A robot that has asked for its first decision. */
function asking(): EdgeLink {
  const link = new EdgeLink({
    makeHello: (session) => hello(session),
    random: new SeededRandom(1),
  });
  link.start(instant(0));
  link.opened(instant(0));
  for (const message of [fromHost[0], { case: "status", value: ready } as const]) {
    link.received(create(HostMessageSchema, { message }), instant(1));
  }
  link.request(create(ObservationSchema, seen), instant(0), instant(1e9));
  return link;
}

test("a robot is not thrown by what a host sends, and takes no row that is no number", () => {
  const random = new SeededRandom(42);
  const check = new ChunkCheck({ schema: SCHEMA, horizon: HORIZON, dtNs: DT_NS });
  const asked = { epoch: 1, seq: 1, stampNs: instant(0) };
  let readCount = 0;
  let takenCount = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const message = create(HostMessageSchema, { message: fromHost[round % fromHost.length]! });
    const bytes = spoilt(run.responseSerialize(message), random);
    const read = decoded<HostMessage>(run.responseDeserialize, bytes);
    if (read === undefined) continue;
    readCount += 1;
    const link = asking();
    link.received(read, instant(2));
    link.step(instant(3));
    for (let told = link.takeAnswer(); told !== undefined; told = link.takeAnswer()) {
      if (!("chunk" in told) || check.refusalOf(told.chunk, asked) !== undefined) continue;
      takenCount += 1;
      const { values } = told.chunk;
      expect([values.length, values.every(Number.isFinite)]).toEqual([rows.length, true]);
    }
  }
  expect(readCount).toBeGreaterThan(ROUNDS / 8);
  expect(takenCount).toBeGreaterThan(ROUNDS / 200);
  expect(Object.keys(Object.prototype)).toEqual([]);
});
