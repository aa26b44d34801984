// CpuWake on a file in place of the kernel's device: what is written, how long the file is held,
// and that a refusal is an answer.

import { afterAll, expect, test } from "bun:test";
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CpuWake } from "./cpu-wake.ts";

const root = mkdtempSync(join(tmpdir(), "holdfast-wake-"));
afterAll(() => rmSync(root, { recursive: true }));

/** Whether this process has the file open, as the kernel shows it. */
const isOpen = (path: string): boolean =>
  readdirSync("/proc/self/fd").some((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`) === path;
    } catch {
      return false; // the descriptor of the listing itself
    }
  });

test("asks for no latency, and keeps asking until it is released", () => {
  const path = join(root, "latency");
  writeFileSync(path, "");
  const wake = new CpuWake(path);
  expect(wake.grant).toEqual({ granted: true, refusal: "" });
  expect([...readFileSync(path)]).toEqual([0, 0, 0, 0]);
  expect(isOpen(path)).toBe(true);
  wake.release();
  wake.release();
  expect(isOpen(path)).toBe(false);
});

test("a machine without the device, or one that refuses, is named and holds nothing", () => {
  const missing = new CpuWake(join(root, "missing"));
  expect(missing.grant).toEqual({ granted: false, refusal: "ENOENT" });
  missing.release();
  expect(new CpuWake(root).grant).toEqual({ granted: false, refusal: "EISDIR" });
});
