// The handshake, field by field: what does not fit is refused by its name, with what was expected,
// what was found and what mends it.

import { describe, expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { facts, hello, JOINTS } from "./fixture.ts";
import { WelcomeSchema } from "./generated/policy_pb.js";
import type { PolicyFactsSchema } from "./generated/policy_pb.js";
import { refusalOfHello, refusalOfWelcome, refusalText } from "./handshake.ts";
import { PROTOCOL_VERSION } from "./limits.ts";

const welcome = (change: MessageInitShape<typeof PolicyFactsSchema> = {}) =>
  create(WelcomeSchema, {
    protocolVersion: PROTOCOL_VERSION,
    linkSession: 1n,
    policy: facts(change),
  });
const schema = (change: object) => ({
  actionSchema: {
    space: "joint_pos",
    representation: "joint_rad",
    frame: "joint",
    columns: [...JOINTS],
    ...change,
  },
});

describe("the edge", () => {
  test("takes a welcome that fits", () => {
    expect(refusalOfWelcome(hello(1n), welcome())).toBeUndefined();
  });

  const wrong: readonly [string, MessageInitShape<typeof PolicyFactsSchema>][] = [
    ["policy.action_schema.space", schema({ space: "telepathy" })],
    ["policy.action_schema_fingerprint", schema({ columns: ["elbow", "shoulder"] })],
    ["policy.action_schema_fingerprint", { actionSchemaFingerprint: 5n }],
    ["policy.horizon", { horizon: 0 }],
    ["policy.horizon", { horizon: 65 }],
    ["policy.dt_ns", { dtNs: 0n }],
    ["policy.dt_ns", { dtNs: 1_000_000_001n }],
    ["policy.required_fields", { requiredFields: [{ name: "wrist_camera" }] }],
    ["obs_transform_version", { obsTransformVersion: 2 }],
    ["obs_transform_sha256", { obsTransformSha256: new Uint8Array(32) }],
  ];
  test.each(wrong)("refuses a wrong %s", (field, change) => {
    expect(refusalOfWelcome(hello(1n), welcome(change))).toMatchObject({ field });
  });

  test("refuses another session and another protocol", () => {
    expect(refusalOfWelcome(hello(2n), welcome())).toMatchObject({ field: "link_session" });
    const old = { ...welcome(), protocolVersion: 0 };
    expect(refusalOfWelcome(hello(1n), old)).toMatchObject({ field: "protocol_version" });
    const none = create(WelcomeSchema, { protocolVersion: PROTOCOL_VERSION, linkSession: 1n });
    expect(refusalOfWelcome(hello(1n), none)).toMatchObject({ field: "policy" });
  });

  test("refuses joints in another order, and names both orders", () => {
    const columns = ["elbow", "shoulder"];
    const edge = hello(1n, { jointNames: columns });
    const refusal = refusalOfWelcome(edge, welcome());
    expect(refusal).toMatchObject({
      field: "policy.action_schema.columns",
      expected: "elbow, shoulder",
      found: "shoulder, elbow",
    });
    expect(refusalText(refusal!)).toBe(
      "policy.action_schema.columns: expected elbow, shoulder, found shoulder, elbow: " +
        "run the policy with the robot that it was made for",
    );
  });

  test("wants the artifact that the deployment names", () => {
    const edge = hello(1n, { manifestSha256: Uint8Array.of(1, 2) });
    expect(refusalOfWelcome(edge, welcome())).toMatchObject({
      field: "policy.manifest_sha256",
      expected: "0102",
    });
    expect(
      refusalOfWelcome(edge, welcome({ manifestSha256: Uint8Array.of(1, 2) })),
    ).toBeUndefined();
  });

  test.each([
    ["policy.name", { name: "another" }],
    ["policy.horizon", { horizon: 8 }],
    ["policy.dt_ns", { dtNs: 10_000_000n }],
    ["policy.manifest_sha256", { manifestSha256: Uint8Array.of(9) }],
  ])("goes on with no other policy than it began with: %s", (field, change) => {
    expect(refusalOfWelcome(hello(1n), welcome(change), facts())).toMatchObject({ field });
  });
});

test("digests that differ are told by what differs, and never taken for the same", () => {
  const told = (begun: number[], now: number[]): string | undefined => {
    const digest = (bytes: number[]) => ({ manifestSha256: Uint8Array.from(bytes) });
    const refusal = refusalOfWelcome(hello(1n), welcome(digest(now)), facts(digest(begun)));
    return refusal && `${refusal.expected} ${refusal.found} ${refusal.field}`;
  };
  const same = Array.from({ length: 31 }, () => 7);
  const field = "policy.manifest_sha256";
  expect(told([1, ...same], [2, ...same])).toBe(`010707070707 020707070707 ${field}`);
  expect(told([...same, 1], [...same, 2])).toBe(
    `${"07".repeat(31)}01 ${"07".repeat(31)}02 ${field}`,
  );
  expect(told([...same, 1], [])).toBe(`070707070707  ${field}`);
  expect(told([...same, 1], [...same, 1])).toBeUndefined();
  expect(told([], [])).toBeUndefined();
});

describe("a field that a policy needs", () => {
  const pose = { name: "cube_pose", dtype: "float32", shape: [7], unit: "m", frame: "base" };
  const edge = (change: object) => hello(1n, { fields: [{ ...pose, ...change }] });
  const needs = facts({ requiredFields: [pose] });

  test.each([
    ["dtype", { dtype: "float64" }, "float32", "float64"],
    ["shape", { shape: [3, 2] }, "7", "3 x 2"],
    ["unit", { unit: "mm" }, "m", "mm"],
    ["frame", { frame: "camera" }, "base", "camera"],
    ["frame", { frame: "" }, "base", "none"],
  ])("is compared in its %s, by both sides: %p", (part, change, wanted, sent) => {
    const remedy = "use the same profile on both machines, or another policy";
    expect(refusalText(refusalOfHello(edge(change), needs)!)).toBe(
      `fields.cube_pose.${part}: expected ${wanted}, found ${sent}: ${remedy}`,
    );
    expect(refusalText(refusalOfWelcome(edge(change), welcome({ requiredFields: [pose] }))!)).toBe(
      `policy.required_fields.cube_pose.${part}: expected ${sent}, found ${wanted}: ${remedy}`,
    );
  });

  test("fits as it is, whatever it leaves open; what nobody needs is not compared", () => {
    expect(refusalOfHello(edge({}), needs)).toBeUndefined();
    expect(refusalOfWelcome(edge({}), welcome({ requiredFields: [pose] }))).toBeUndefined();
    const named = facts({ requiredFields: [{ name: "cube_pose" }] });
    expect(refusalOfHello(edge({ unit: "mm", frame: "camera" }), named)).toBeUndefined();
    expect(refusalOfHello(edge({ unit: "mm" }), facts())).toBeUndefined();
    const scene = { name: "scene", dtype: "jpeg", shape: [224, 224, 3] };
    const sees = facts({ acceptsJpeg: true, requiredFields: [{ ...scene, dtype: "rgb8" }] });
    expect(refusalOfHello(hello(1n, { fields: [scene] }), sees)).toBeUndefined();
  });
});

describe("a robot that sends JPEG", () => {
  const edge = (dtype: string) =>
    hello(1n, { fields: [{ name: "scene", dtype, shape: [224, 224, 3] }] });
  const remedy =
    "in the robot's profile set policy.picture_encoding to rgb8, " +
    "or let the policy say that it accepts JPEG";

  test("and a policy that does not accept it refuse each other, with what mends it", () => {
    expect(refusalText(refusalOfHello(edge("jpeg"), facts())!)).toBe(
      `fields.scene.dtype: expected rgb8, found jpeg: ${remedy}`,
    );
    expect(refusalText(refusalOfWelcome(edge("jpeg"), welcome())!)).toBe(
      `policy.accepts_jpeg: expected true, as scene goes as JPEG, found false: ${remedy}`,
    );
  });

  test("goes with a policy that accepts it; one that accepts it takes pixels too", () => {
    for (const dtype of ["jpeg", "rgb8"]) {
      expect(refusalOfHello(edge(dtype), facts({ acceptsJpeg: true }))).toBeUndefined();
      expect(refusalOfWelcome(edge(dtype), welcome({ acceptsJpeg: true }))).toBeUndefined();
    }
    expect(refusalOfHello(edge("rgb8"), facts())).toBeUndefined();
    expect(refusalOfWelcome(edge("rgb8"), welcome())).toBeUndefined();
  });
});

describe("the host", () => {
  test("takes a hello that fits", () => {
    expect(refusalOfHello(hello(1n), facts())).toBeUndefined();
  });

  test.each([
    ["protocol_version", hello(1n, { protocolVersion: 2 }), facts()],
    ["obs_transform_sha256", hello(1n, { obsTransformSha256: new Uint8Array(1) }), facts()],
    ["joint_names", hello(1n, { jointNames: [] }), facts()],
    ["policy.action_schema.columns", hello(1n, { jointNames: ["a", "b"] }), facts()],
    ["fields", hello(1n), facts({ requiredFields: [{ name: "wrist_camera" }] })],
    ["manifest_sha256", hello(1n, { manifestSha256: Uint8Array.of(1) }), facts()],
  ])("refuses a wrong %s", (field, edge, own) => {
    expect(refusalOfHello(edge, own)).toMatchObject({ field });
  });
});
