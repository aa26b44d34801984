// The wait for a thread that loads, in made-up time, with the thread that a policy host tries a
// file in: how long it is waited for, what a person hears meanwhile, and what ends it.

import { afterAll, afterEach, beforeEach, expect, jest, test } from "bun:test";
import { EventEmitter } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tryPolicyFile } from "../compose.ts";
import { untilReady } from "./thread-start.ts";

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

class Thread extends EventEmitter {
  postMessage(): void {}
  terminate(): Promise<void> {
    return Promise.resolve();
  }
}

/** How the wait stands; what a promise settled with is known a few turns later. */
async function outcomeOf(wait: Promise<void>): Promise<string> {
  const words = wait.then(() => "ready").catch((error: unknown) => String(error));
  return Promise.race([
    words,
    Promise.resolve()
      .then(turn)
      .then(turn)
      .then(() => "waits"),
  ]);
}
const turn = (): Promise<void> => Promise.resolve();

test("a thread that says nothing is given up after 30 s, one that tells more is not", async () => {
  const thread = new Thread();
  const notes: string[] = [];
  const wait = untilReady(thread, "policy", (text) => notes.push(text));
  jest.advanceTimersByTime(29_999);
  thread.emit("message", { kind: "note", text: "waiting for its host" });
  jest.advanceTimersByTime(29_999);
  expect([await outcomeOf(wait), notes]).toEqual([
    "waits",
    ["waiting for the policy thread to load"],
  ]);
  jest.advanceTimersByTime(1);
  expect(await outcomeOf(wait)).toContain("policy thread: it was not ready within 30 s");
});

test("one that ends or throws is told at once", async () => {
  const ends = new Thread();
  const ended = untilReady(ends, "policy", () => undefined);
  ends.emit("exit", 1);
  expect(await outcomeOf(ended)).toContain("it ended while loading");
  const throws = new Thread();
  const thrown = untilReady(throws, "policy", () => undefined);
  throws.emit("error", new Error("no model"));
  throws.emit("exit", 1);
  expect(await outcomeOf(thrown)).toContain("no model");
  const strange = new Thread();
  const refused = untilReady(strange, "policy", () => undefined);
  strange.emit("error", null);
  expect(await outcomeOf(refused)).toContain("Cannot start the policy thread: null");
});

const folder = mkdtempSync(join(tmpdir(), "hf-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("a file that a host tries may import for as long as any policy of it may load", async () => {
  const path = join(folder, "slow.ts");
  writeFileSync(path, "setInterval(() => {}, 1e6); await new Promise(() => {});");
  const wait = tryPolicyFile(path, () => undefined);
  jest.advanceTimersByTime(599_999);
  expect(await outcomeOf(wait)).toBe("waits");
  jest.advanceTimersByTime(1);
  expect(await outcomeOf(wait)).toContain("it was not ready within 600 s");
});
