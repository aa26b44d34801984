// What lies on disk after a pairing: for its owner alone, whole, a file for each peer, and refused
// by path when it is none of that.

import { afterEach, beforeEach, expect, test } from "bun:test";
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseAddress } from "./address.ts";
import { needIdentity, needPairedHost } from "./pair-rules.ts";
import { PairStore } from "./pair-store.ts";
import { makeIdentity } from "./tls-authority.ts";
import type { PairedHost } from "./pair-store.ts";

const NOW_MS = 1_893_456_000_000; // the year 2030
let folder = "";
let store = new PairStore("");

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "hf-"));
  store = new PairStore(folder);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const path = (name: string): string => join(folder, "holdfast/pairing", name);
const gpu: PairedHost = {
  name: "GPU.lan",
  fingerprint: "SHA256:gpu",
  isRevoked: false,
  authority: "authority",
  certificate: "certificate",
  key: "key",
};
const address = (text: string) => parseAddress(text)!;

test("an authority is made once; files and folders are its owner's alone", async () => {
  expect(store.identity()).toBeUndefined();
  const made = await store.needIdentity(makeIdentity);
  expect(await store.needIdentity(makeIdentity)).toEqual(made);
  store.putRobot({ name: "arm", fingerprint: "f", isRevoked: false });
  store.putHost(gpu);
  const files = readdirSync(folder, { recursive: true, withFileTypes: true });
  const modes = files.map((each) => {
    const mode = statSync(join(each.parentPath, each.name)).mode & 0o777;
    return [each.isDirectory(), mode.toString(8)];
  });
  expect(modes.filter(([isFolder]) => isFolder === true).every(([, mode]) => mode === "700")).toBe(
    true,
  );
  expect(modes.filter(([isFolder]) => isFolder === false)).toEqual(
    Array.from({ length: 3 }, () => [false, "600"]),
  );
});

test("two who make an authority at the same time end with the same one", async () => {
  const [one, other] = await Promise.all([
    store.needIdentity(makeIdentity),
    store.needIdentity(makeIdentity),
  ]);
  expect(one).toEqual(other);
  expect(store.identity()).toEqual(one);
});

test("nothing is left beside a file, whoever came first", async () => {
  const slow = async () => {
    await store.needIdentity(makeIdentity);
    return makeIdentity();
  };
  await store.needIdentity(slow);
  store.putHost(gpu);
  expect(readdirSync(path("host"))).toEqual(["identity.json"]);
  expect(readdirSync(path("robot/hosts"))).toEqual(["gpu.lan.json"]);
});

test("a key that others can read is not used", async () => {
  await store.needIdentity(makeIdentity);
  chmodSync(path("host/identity.json"), 0o640);
  const file = path("host/identity.json");
  expect(() => store.identity()).toThrow(
    `Cannot use "${file}": expected a file for its owner alone (chmod 600 "${file}"), ` +
      "found mode 640",
  );
});

test("a file that is something else is refused by its path", () => {
  store.putHost(gpu);
  for (const text of ["", "[]", "null", '{"name":"gpu.lan"}']) {
    writeFileSync(path("robot/hosts/gpu.lan.json"), text);
    expect(() => store.hosts()).toThrow(path("robot/hosts/gpu.lan.json"));
  }
});

test("what is no file of its own, as a link, is refused by its path", () => {
  store.putHost(gpu);
  symlinkSync(path("robot/hosts/gpu.lan.json"), path("robot/hosts/other.json"));
  const found = "expected a regular file, found something else";
  expect(() => store.hosts()).toThrow(`"${path("robot/hosts/other.json")}": ${found}`);
});

test("robots get names of their own that are safe as names of files", () => {
  const wishes = ["Arm", "arm", "../../etc", "", "ä/\0 b", "x".repeat(300)];
  const names = wishes.map((wished) => {
    const name = store.freeName(wished);
    store.putRobot({ name, fingerprint: name, isRevoked: false });
    return name;
  });
  expect(names).toEqual(["arm", "arm-2", "etc", "robot", "b", "x".repeat(40)]);
  expect(store.robots().map(({ name }) => name)).toEqual(names.toSorted());
});

test("a revoked robot is not admitted, nor is one that was never paired", () => {
  store.putRobot({ name: "arm", fingerprint: "SHA256:arm", isRevoked: false });
  expect(["SHA256:arm", "SHA256:other"].map((each) => store.admits(each))).toEqual([true, false]);
  store.putRobot({ name: "arm", fingerprint: "SHA256:arm", isRevoked: true });
  expect(store.admits("SHA256:arm")).toBe(false);
});

test("a robot speaks to a host that it is paired with, on any port, in any case", () => {
  store.putHost(gpu);
  expect(needPairedHost(store, address("grpc://gpu.LAN:9"), NOW_MS).fingerprint).toBe("SHA256:gpu");
  expect(() => needPairedHost(store, address("grpc://10.0.0.7"), NOW_MS)).toThrow(
    "Cannot use the policy host 10.0.0.7:7777: expected a pairing with 10.0.0.7 (on that machine " +
      "type holdfast pair host, and here what it prints), found one with gpu.lan",
  );
});

test("a revoked host is refused by every name that it has, until it is paired anew", () => {
  store.putHost(gpu);
  store.putHost({ ...gpu, name: "10.0.0.7" });
  store.putHost({ ...gpu, isRevoked: true });
  for (const text of ["grpc://gpu.lan", "grpc://10.0.0.7"]) {
    expect(() => needPairedHost(store, address(text), NOW_MS)).toThrow("by holdfast pair revoke");
  }
  store.putHost(gpu);
  expect(needPairedHost(store, address("grpc://10.0.0.7"), NOW_MS).isRevoked).toBe(false);
});

test("a host without a paired robot does not listen beyond its machine", async () => {
  const message =
    "Cannot listen on 0.0.0.0:7777: expected a paired robot (type holdfast pair host; on this " +
    "machine alone: 127.0.0.1), found none";
  expect(() => needIdentity(store, "0.0.0.0:7777", NOW_MS)).toThrow(message);
  await store.needIdentity(makeIdentity);
  expect(() => needIdentity(store, "0.0.0.0:7777", NOW_MS)).toThrow(message);
  store.putRobot({ name: "arm", fingerprint: "f", isRevoked: true });
  expect(() => needIdentity(store, "0.0.0.0:7777", NOW_MS)).toThrow(message);
  store.putRobot({ name: "arm-2", fingerprint: "f", isRevoked: false });
  expect(needIdentity(store, "0.0.0.0:7777", NOW_MS)).toEqual(
    await store.needIdentity(makeIdentity),
  );
});

test.each([
  [0, "1970-01-01 00:00"],
  [1_577_836_740_000, "2019-12-31 23:59"],
  [2_398_377_600_000, "2046-01-01 00:00"],
])("with a clock at %d both sides name the clock", (wallMs, text) => {
  store.putHost(gpu);
  const clock =
    "expected a clock between 2020 and 2046 (set this machine's: timedatectl set-time), " +
    `found one that says ${text}`;
  expect(() => needPairedHost(store, address("grpc://gpu.lan"), wallMs)).toThrow(
    `Cannot use the policy host gpu.lan:7777: ${clock}`,
  );
  expect(() => needIdentity(store, "0.0.0.0:1", wallMs)).toThrow(
    `Cannot listen on 0.0.0.0:1: ${clock}`,
  );
});
