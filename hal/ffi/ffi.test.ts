// The C library calls against what the kernel itself reports in /proc, and the clock's arithmetic
// at whole-second borders. Rights may be missing here: then the answer must say so by name.

import { afterAll, expect, test } from "bun:test";
import {
  closeSync,
  constants,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AssertionError } from "../../runtime/contracts/assert.ts";
import { duration, instant, NS_PER_MS, NS_PER_S } from "../../runtime/contracts/units.ts";
import { cBuffer, errnoName } from "./libc.ts";
import { MonotonicClock, sessionOrigin, SLICE_NS_MAX } from "./monotonic-clock.ts";
import * as scheduling from "./scheduling.ts";
import { scanThreads, undeclaredRealtime } from "./threads.ts";
import { canWrite } from "./writable.ts";

const root = mkdtempSync(join(tmpdir(), "holdfast-ffi-"));
afterAll(() => rmSync(root, { recursive: true }));

const uptimeS = () => Number(readFileSync("/proc/uptime", "utf8").split(" ")[0]);
const ownStatus = (key: string) =>
  readFileSync("/proc/thread-self/status", "utf8").match(new RegExp(`^${key}:\\s*(.*)$`, "m"))?.[1];

test("MonotonicClock counts whole ns from an origin that another clock shares", () => {
  const origin = sessionOrigin();
  const first = new MonotonicClock(origin, duration(0));
  const second = new MonotonicClock(origin, duration(0));
  const timesNs = [first.nowNs(), second.nowNs(), first.nowNs()];
  expect(timesNs.every(Number.isInteger)).toBe(true);
  expect(timesNs).toEqual(timesNs.toSorted((left, right) => left - right));
});

test("MonotonicClock stays exact whatever ns the origin's second had reached", () => {
  const { wholeS } = sessionOrigin();
  const early = new MonotonicClock({ wholeS: wholeS - 1, restNs: 0 }, duration(0));
  const late = new MonotonicClock({ wholeS: wholeS - 1, restNs: NS_PER_S - 1 }, duration(0));
  const beforeNs = early.nowNs();
  const betweenNs = late.nowNs() + NS_PER_S - 1;
  expect([beforeNs <= betweenNs, betweenNs <= early.nowNs()]).toEqual([true, true]);
});

test("sleepSliceUntil never returns true before the due time, across a second's border too", () => {
  const { wholeS } = sessionOrigin();
  const clock = new MonotonicClock({ wholeS: wholeS - 1, restNs: 999_999_999 }, duration(0));
  for (let repeat = 0; repeat < 20; repeat += 1) {
    const dueNs = instant(clock.nowNs() + 300_000);
    let slices = 1;
    while (!clock.sleepSliceUntil(dueNs)) slices += 1;
    expect([clock.nowNs() >= dueNs, slices]).toEqual([true, 1]);
  }
});

test("sleepSliceUntil gives up after one slice, so that a far due time cannot hang a stop", () => {
  const clock = new MonotonicClock(sessionOrigin(), duration(0));
  const startNs = clock.nowNs();
  const dueNs = instant(startNs + 3600 * NS_PER_S);
  expect(clock.sleepSliceUntil(dueNs)).toBe(false);
  expect(clock.nowNs() - startNs).toBeGreaterThanOrEqual(SLICE_NS_MAX);
});

test("sleepSliceUntil returns at once for a due time in the past, even before the origin", () => {
  const clock = new MonotonicClock(sessionOrigin(), duration(0));
  expect(clock.sleepSliceUntil(instant(-5 * NS_PER_S))).toBe(true);
});

test("a spin tail waits for the due time itself and is refused above its limit", () => {
  const clock = new MonotonicClock(sessionOrigin(), duration(200_000));
  const dueNs = instant(clock.nowNs() + 1 * NS_PER_MS);
  while (!clock.sleepSliceUntil(dueNs));
  expect(clock.nowNs()).toBeGreaterThanOrEqual(dueNs);
  expect(() => new MonotonicClock(sessionOrigin(), duration(200_001))).toThrow(AssertionError);
});

test("suspendedNs is the gap between the kernel's uptime and CLOCK_MONOTONIC", () => {
  const clock = new MonotonicClock({ wholeS: 0, restNs: 0 }, duration(0));
  const suspendedS = clock.suspendedNs() / NS_PER_S;
  const expectedS = uptimeS() - clock.nowNs() / NS_PER_S;
  expect(Math.abs(suspendedS - expectedS)).toBeLessThan(0.5);
});

test("a thread's name and number are the ones that the kernel shows", () => {
  scheduling.nameThread("hf-test.name-15");
  expect(ownStatus("Name")).toBe("hf-test.name-15");
  expect(`self/task/${scheduling.threadId()}`).toBe(
    readlinkSync("/proc/thread-self").replace(/^\d+/, "self"),
  );
  expect(() => scheduling.nameThread("hf-test.name-16x")).toThrow(AssertionError);
  scheduling.nameThread("bun");
});

test("FIFO is granted with its priority or refused by name, and can be given back", () => {
  scheduling.nameThread("hf-fifo-test");
  const answer = scheduling.setFifo(3);
  const seen = scanThreads().filter((thread) => thread.name === "hf-fifo-test");
  const undeclared = undeclaredRealtime(seen, []);
  const isFifo = scheduling.isFifo();
  const priority = scheduling.threadPriority();
  const back = scheduling.setNormal();
  scheduling.nameThread("bun");
  const fifo = { name: "hf-fifo-test", policy: "FIFO" as const, priority: 3 };
  if (answer.granted) {
    expect({ seen, undeclared, isFifo, priority }).toEqual({
      seen: [fifo],
      undeclared: [fifo],
      isFifo: true,
      priority: 3,
    });
  } else {
    expect({ answer, isFifo }).toEqual({
      answer: { granted: false, refusal: "EPERM" },
      isFifo: false,
    });
  }
  expect({ back, isFifo: scheduling.isFifo() }).toEqual({
    back: { granted: true, refusal: "" },
    isFifo: false,
  });
});

test("affinity pins to the CPU asked for, and a CPU that is not there is refused by name", () => {
  const before = ownStatus("Cpus_allowed_list")!;
  const cpus = before.split(",").flatMap((part) => {
    const [first, last] = part.split("-").map(Number);
    return Array.from({ length: (last ?? first)! - first! + 1 }, (_, index) => first! + index);
  });
  const pinned = scheduling.setAffinity([cpus[0]!]);
  const during = ownStatus("Cpus_allowed_list");
  const back = scheduling.setAffinity(cpus);
  expect({ pinned, during, back, after: ownStatus("Cpus_allowed_list") }).toEqual({
    pinned: { granted: true, refusal: "" },
    during: String(cpus[0]),
    back: { granted: true, refusal: "" },
    after: before,
  });
  expect(scheduling.setAffinity([1023])).toEqual({ granted: false, refusal: "EINVAL" });
});

test("locked memory shows in the kernel's account and is given back", () => {
  const lockedKb = () => Number.parseInt(ownStatus("VmLck")!, 10);
  const answer = scheduling.lockMemory();
  const duringKb = lockedKb();
  if (answer.granted) scheduling.unlockMemory();
  expect([answer.granted, duringKb > 10_000, lockedKb()]).toEqual([
    answer.granted,
    answer.granted,
    0,
  ]);
  if (!answer.granted) expect(["ENOMEM", "EPERM"]).toContain(answer.refusal);
});

test("the limits are the ones that the kernel shows", () => {
  const limits = readFileSync("/proc/self/limits", "utf8");
  const soft = (row: string) => {
    const text = limits.match(new RegExp(`^${row}\\s+(\\S+)`, "m"))![1]!;
    return text === "unlimited" ? Infinity : Number(text);
  };
  expect([scheduling.memlockSizeBytesMax(), scheduling.realtimePriorityMax()]).toEqual([
    soft("Max locked memory"),
    soft("Max realtime priority"),
  ]);
});

test("scanThreads reads policy and priority behind names that hold brackets and spaces", () => {
  // Field numbers are written out here, so that a slip in the parser cannot hide.
  const stat = (name: string, priority: number, policy: number) => {
    const fields = Array.from({ length: 52 }, (_, index) => String(1000 + index + 1));
    fields[1] = `(${name})`;
    fields[2] = "S";
    fields[39] = String(priority);
    fields[40] = String(policy);
    return `${fields.join(" ")}\n`;
  };
  const threads: [string, number, number][] = [
    ["bun", 0, 0],
    ["a) S (b", 70, 1],
    ["hf-control", 80, 1],
    ["batch", 0, 3],
    ["deadline", 0, 6],
  ];
  for (const [index, thread] of threads.entries()) {
    mkdirSync(join(root, `self/task/${index + 10}`), { recursive: true });
    writeFileSync(join(root, `self/task/${index + 10}/stat`), stat(...thread));
  }
  mkdirSync(join(root, "self/task/99")); // a thread that has just ended
  const scanned = scanThreads(root);
  expect(scanned.toSorted((left, right) => left.name.localeCompare(right.name))).toEqual([
    { name: "a) S (b", policy: "FIFO", priority: 70 },
    { name: "batch", policy: "BATCH", priority: 0 },
    { name: "bun", policy: "OTHER", priority: 0 },
    { name: "deadline", policy: "DEADLINE", priority: 0 },
    { name: "hf-control", policy: "FIFO", priority: 80 },
  ]);
  const names = undeclaredRealtime(scanned, ["hf-control"]).map((thread) => thread.name);
  expect(names.toSorted()).toEqual(["a) S (b", "deadline"]);
});

test("memory for C is at least a cache line, and an unknown errno keeps its number", () => {
  expect([cBuffer(4).words.byteLength, cBuffer(128).words.byteLength]).toEqual([64, 128]);
  expect([errnoName(12), errnoName(113)]).toEqual(["ENOMEM", "errno 113"]);
});

test("a pipe that nobody reads has no room once it is full, and a closed one is told", () => {
  const pipe = Bun.spawnSync(["mktemp", "-u"]).stdout.toString().trim();
  Bun.spawnSync(["mkfifo", pipe]);
  const fd = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);
  expect(canWrite(fd)).toBe(true);
  const piece = Buffer.alloc(4_096);
  expect(() => {
    for (;;) writeSync(fd, piece);
  }).toThrow("EAGAIN");
  expect([canWrite(fd), canWrite(fd, 1)]).toEqual([false, false]);
  closeSync(fd);
  rmSync(pipe);
  expect(canWrite(fd)).toBe(true); // the write itself says what is wrong
});
