// The key file of an e-stop: what is read, and every refusal word for word. No message may hold the
// key, and no other e-stop than a board takes one.

import { afterAll, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readEstopKey } from "./estop-key.ts";
import { runOptions } from "./run-command.ts";
import { UsageError } from "./usage.ts";

const folder = mkdtempSync(join(tmpdir(), "holdfast-key-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const DIGITS = "00112233445566fF";
const KEY = Uint8Array.of(0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0xff);

function fileOf(text: string, mode = 0o600): string {
  const path = join(folder, `key-${Bun.hash(text)}-${mode}`);
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

test("sixteen hex digits are a key, with or without an end of line", () => {
  for (const end of ["", "\n"]) {
    expect(readEstopKey(fileOf(DIGITS + end))).toEqual(KEY);
  }
  expect(readEstopKey(fileOf(DIGITS, 0o400))).toEqual(KEY);
});

test("a file that others may read, or that holds no key, is refused with what was expected", () => {
  const modes = [0o640, 0o604, 0o620, 0o602, 0o610, 0o601].map((mode): [string, string] => {
    const path = fileOf(DIGITS, mode);
    return [path, `a file of mode 0600, found 0${mode.toString(8)}: chmod 600 ${path}`];
  });
  const inner = join(folder, "inner");
  mkdirSync(inner, { recursive: true });
  const cases: [string, string][] = [
    ...modes,
    [join(folder, "none"), "a file, found ENOENT"],
    [inner, "a file, found something else"],
    [fileOf(""), "16 hex digits, found 0 digits"],
    [fileOf(DIGITS.slice(2)), "16 hex digits, found 14 digits"],
    [fileOf(`${DIGITS}00`), "16 hex digits, found 18 digits"],
    [fileOf(`${DIGITS}\n\n`), "16 hex digits, found other characters"],
    [fileOf(` ${DIGITS}`), "16 hex digits, found other characters"],
    [fileOf(`${DIGITS}\r\n`), "16 hex digits, found other characters"],
    [fileOf("0x11223344556677"), "16 hex digits, found other characters"],
    [fileOf(DIGITS.repeat(5)), "16 hex digits, found 80 bytes"],
  ];
  for (const [path, said] of cases) {
    const refusal = new Error(`Cannot use --estop-key ${path}: expected ${said}`);
    expect(() => readEstopKey(path)).toThrow(refusal.message);
    expect(() => readEstopKey(path)).toThrow(UsageError);
    expect(refusal.message).not.toContain(DIGITS.slice(4));
  }
});

test("a key goes with a board's line, and with nothing else", () => {
  const estopKey = fileOf(DIGITS);
  expect(runOptions("so101", { estop: "/dev/ttyUSB0", estopKey }).estop).toEqual({
    kind: "board",
    path: "/dev/ttyUSB0",
    key: KEY,
  });
  for (const [values, found] of [
    [{ estop: "emulated" }, '"emulated"'],
    [{ estop: "none" }, '"none"'],
    [{}, '"none"'],
  ] as const) {
    expect(() => runOptions("so101", { ...values, estopKey })).toThrow(
      `Cannot use --estop-key: expected --estop with a board's serial line, found ${found}`,
    );
  }
});
