// The binding of the firmware's core: what goes in arrives, what comes out is the core's, and
// memory for C stays where it is. What the core decides is tested in firmware-tests/.

import { expect, test } from "bun:test";
import { hasHostCompiler, hostLibrary } from "../../firmware-tests/firmware-build.ts";
import { AssertionError } from "../../runtime/contracts/assert.ts";
import type { EstopConfig } from "./estop-core.ts";
import { EstopCore, EstopView } from "./estop-core.ts";

const coreTest = test.skipIf(!hasHostCompiler);

const config: EstopConfig = {
  silenceMs: 26,
  stopMs: 301,
  cutDelayMs: 2,
  discrepancyMs: 103,
  settleMs: 54,
  buildBits: 5,
};
const noKey = new Uint8Array(8);
const CONTACTS_OPEN = 7;

const boot = (nowUs = 0) => new EstopCore(hostLibrary(false), config, noKey, 0x89ab_cdef, 4, nowUs);

coreTest("a core boots with the constants, the nonce and the cause that it was given", () => {
  const core = boot();
  expect(core.status(0)).toBe(46);
  const status = Buffer.from(core.statusWire);
  expect(status.includes(Buffer.from("89abcdef", "hex"))).toBe(true);
  expect(core.refreshView()[EstopView.cause]).toBe(4);
  core.free();
});

coreTest("steps, statuses and bytes at the edge of the 32-bit clock all reach the core", () => {
  const core = boot(0xffff_ff00);
  const view = () =>
    Object.fromEntries(Object.entries(EstopView).map(([k, at]) => [k, core.view[at]]));
  expect([core.status(0xffff_ff00), core.status(0xffff_ffff), core.status(4_800)]).toEqual([
    46, 0, 46,
  ]);
  core.receive(new Uint8Array(200).fill(0x55), 100);
  core.receive(new Uint8Array(1), 100);
  for (let nowUs = 0; nowUs < 4_000; nowUs += 256) core.step(nowUs, CONTACTS_OPEN);
  core.refreshView();
  expect(view()).toEqual({
    mode: 0,
    cause: 4,
    outputs: 0,
    failCount: 6,
    badCount: 1,
    lastBad: 1,
    proofStep: 0,
    levels: CONTACTS_OPEN,
    goodStreak: 0,
    beating: 0,
    bothOpenDue: 0,
    hostMode: 0,
  });
  core.free();
});

coreTest("the loops over broken frames and beats count what the core takes", () => {
  const core = boot();
  core.status(0);
  const noise = new Uint8Array(31).fill(0x11);
  expect([core.flipAll(noise, 1), core.flipRandom(noise, 100, 1)]).toEqual([0, 0]);
  expect([core.burstAll(noise, 8), core.burstRandom(noise, 100, 1)]).toEqual([0, 0]);
  expect(core.noise(100, 1)).toBe(0);
  expect(core.forge(noise, 100, 1)).toBe(100); // it is not keyed
  expect(core.soak(10, 1, 1_000, 0, 1_000)).toBe(0); // it is not armed
  expect(core.fold(1, 0)).toBe(core.fold(0, 1));
  expect(core.crc(new TextEncoder().encode("123456789"))).toBe(0x1697_d06a);
  core.free();
});

coreTest("a key of another size and bytes beyond the memory for C are refused", () => {
  const core = boot();
  expect(() => core.crc(new Uint8Array(65))).toThrow(AssertionError);
  expect(() => new EstopCore(hostLibrary(false), config, new Uint8Array(7), 1, 1, 0)).toThrow(
    AssertionError,
  );
  core.free();
});
