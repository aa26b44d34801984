// holdfast pair as a person meets it, without a process: what cannot be typed, what is listed and
// revoked, and that neither side goes beyond its machine unpaired. No code is ever shown again.

import { expect, setSystemTime, test } from "bun:test";
import { PairStore } from "../link/pair-store.ts";
import { makeIdentity } from "../link/tls-authority.ts";
import { fakeContext, freshUser } from "./fixture.ts";
import type { FakeContext } from "./fixture.ts";
import { runProgram } from "./program.ts";

function place(): { context: FakeContext; store: PairStore } {
  const user = freshUser();
  const folder = user.environment["XDG_RUNTIME_DIR"]!;
  const context = fakeContext({ user: { ...user, environment: { XDG_STATE_HOME: folder } } });
  return { context, store: new PairStore(folder) };
}

const bad: readonly (readonly [string, string])[] = [
  ["pair", 'Missing required argument "ADDR": see holdfast pair --help'],
  [
    "pair grpc://gpu.lan:x --code ABCD-EFGH",
    'Cannot use ADDR: expected grpc://HOST:PORT, as the host prints, found "grpc://gpu.lan:x"',
  ],
  [
    "pair grpc://127.0.0.1:7776 --code ABCD-EFGH",
    "Cannot use ADDR: expected another machine (on this one nothing needs pairing: " +
      'holdfast host), found "grpc://127.0.0.1:7776"',
  ],
  [
    "pair grpc://gpu.lan --code SECRET-1",
    "Cannot use --code: expected XXXX-XXXX, as the host shows, found something else",
  ],
  ["pair grpc://gpu.lan --code=", "Cannot use --code: expected a value, found nothing"],
  [
    "pair host --listen nowhere:x",
    'Cannot use --listen: expected an address such as 0.0.0.0:7776, found "nowhere:x"',
  ],
  ...["127.0.0.1:7776", "[::1]:7776", "localhost"].map((address): [string, string] => [
    `pair host --listen ${address}`,
    "Cannot use --listen: expected an address that other machines reach, such as 0.0.0.0:7776, " +
      `found "${address}"`,
  ]),
  ["pair revoke arm", 'Cannot use NAME: expected something paired, found "arm"'],
  [
    "run --policy grpc://gpu.lan",
    "Cannot use the policy host gpu.lan:7777: expected a pairing with gpu.lan " +
      "(on that machine type holdfast pair host, and here what it prints), found none",
  ],
  [
    "host --listen 0.0.0.0:7777",
    "Cannot listen on 0.0.0.0:7777: expected a paired robot (type holdfast pair host; on this " +
      "machine alone: 127.0.0.1), found none",
  ],
];

test.each(bad)("%p is refused with one line that says what to do", async (line, message) => {
  const { context } = place();
  expect(await runProgram(line.split(" "), context)).toBe(2);
  expect(context.out.text).toBe("");
  expect(context.err.text).toBe(`holdfast: ${message}\n`);
});

test.each(["run --policy grpc://gpu.lan", "host --listen 0.0.0.0:7777"])(
  "%p names a clock that no certificate can be good with",
  async (line) => {
    const { context, store } = place();
    await store.needIdentity(makeIdentity);
    store.putRobot({ name: "arm", fingerprint: "f", isRevoked: false });
    setSystemTime(3_600_000);
    try {
      expect(await runProgram(line.split(" "), context)).toBe(2);
    } finally {
      setSystemTime();
    }
    expect(context.err.text).toEndWith(
      "expected a clock between 2020 and 2046 (set this machine's: timedatectl set-time), " +
        "found one that says 1970-01-01 01:00\n",
    );
  },
);

test("a list names robots and hosts with their keys, and what is revoked stays in it", async () => {
  const { context, store } = place();
  await runProgram(["pair", "list"], context);
  expect(context.out.text).toBe("not paired with anything: holdfast pair --help\n");
  const secrets = { authority: "AUTHORITY", certificate: "CERTIFICATE", key: "PRIVATE KEY" };
  store.putRobot({ name: "arm", fingerprint: "SHA256:arm", isRevoked: false });
  store.putRobot({ name: "arm-2", fingerprint: "SHA256:two", isRevoked: false });
  store.putHost({ name: "gpu.lan", fingerprint: "SHA256:gpu", isRevoked: false, ...secrets });
  const revokes = ["arm-2", "gpu.lan"].map((name) => runProgram(["pair", "revoke", name], context));
  expect(await Promise.all(revokes)).toEqual([0, 0]);
  context.out.text = "";
  expect(await runProgram(["pair", "list"], context)).toBe(0);
  expect(context.out.text).toBe(
    "robot  arm  SHA256:arm\n" +
      "robot  arm-2  SHA256:two  revoked\n" +
      "host   gpu.lan  SHA256:gpu  revoked\n",
  );
  expect([store.admits("SHA256:arm"), store.admits("SHA256:two")]).toEqual([true, false]);
  expect(store.host("gpu.lan")).toMatchObject(secrets);
});

test("what is revoked already is said to be, and is offered to nobody", async () => {
  const { context, store } = place();
  const secrets = { authority: "A", certificate: "C", key: "K" };
  store.putRobot({ name: "arm", fingerprint: "f", isRevoked: true });
  store.putHost({ name: "arm", fingerprint: "g", isRevoked: false, ...secrets });
  expect(await runProgram(["pair", "revoke", "arm"], context)).toBe(0);
  expect(await runProgram(["pair", "revoke", "arm"], context)).toBe(0);
  expect(context.out.text).toBe(
    "robot arm was revoked already\n" +
      "revoked host arm: this robot refuses it from its next connection on\n" +
      "robot arm was revoked already\n" +
      "host arm was revoked already\n",
  );
  expect(await runProgram(["pair", "revoke", "amr"], context)).toBe(2);
  expect(context.err.text).toContain('expected something paired, found "amr"');
});

test("a misspelt name is answered with those that there are", async () => {
  const { context, store } = place();
  store.putRobot({ name: "arm", fingerprint: "f", isRevoked: false });
  expect(await runProgram(["pair", "revoke", "amr"], context)).toBe(2);
  expect(context.err.text).toContain(
    'Cannot use NAME: expected "arm" (did you mean "arm"?), found "amr"',
  );
  expect(store.admits("f")).toBe(true);
});
