// Supply over a real pipe: both outputs closed are power, anything else and a writer that is gone
// are none, and no cut is overlooked. What no board says is none for good.

import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FileDescriptor, makeFifo } from "../../hal/ffi/file-descriptor.ts";
import { Supply, SupplyTrouble } from "./supply.ts";

const root = mkdtempSync(join(tmpdir(), "holdfast-supply-"));
afterAll(() => rmSync(root, { recursive: true }));

/** The bytes of the four states, written out: outputs, then the same inverted, under 0xa. */
const LEVELS = [0xa3, 0xa6, 0xa9, 0xac] as const;
const BOTH = LEVELS[3];
let made = 0;

function bench() {
  made += 1;
  const path = join(root, `enable-${made}`);
  makeFifo(path);
  const board = FileDescriptor.open(path);
  const supply = new Supply(path);
  const look = (): [boolean, boolean] => [supply.take(), supply.hasPower];
  const say = (...bytes: number[]): [boolean, boolean] => {
    board.write(Uint8Array.from(bytes), bytes.length);
    return look();
  };
  return { board, supply, look, say };
}

test("power follows both outputs, and a writer that is gone leaves none", () => {
  const { board, supply, look, say } = bench();
  expect(look()).toEqual([false, false]);
  expect(say(LEVELS[1])).toEqual([false, false]);
  expect(say(BOTH)).toEqual([true, true]);
  expect(look()).toEqual([false, true]);
  expect(say(LEVELS[2])).toEqual([true, false]);
  expect(say(BOTH)).toEqual([true, true]);
  expect(say(LEVELS[0], BOTH)).toEqual([true, true]); // cut and closed again between two looks
  expect(supply.trouble).toBe(SupplyTrouble.None);
  board.close();
  expect(look()).toEqual([true, false]);
  expect(look()).toEqual([false, false]);
  expect(supply.trouble).toBe(SupplyTrouble.Gone);
});

test("any byte that no board sends cuts at once, and nothing after it gives power", () => {
  for (let byte = 0; byte < 256; byte += 1) {
    if (LEVELS.some((level) => level === byte)) continue;
    const { board, supply, say } = bench();
    expect(say(BOTH)).toEqual([true, true]);
    expect([byte, ...say(byte, BOTH)]).toEqual([byte, true, false]);
    expect(say(BOTH, LEVELS[0], BOTH)).toEqual([false, false]);
    expect(supply.trouble).toBe(SupplyTrouble.Garbage);
    board.close();
    expect(supply.trouble).toBe(SupplyTrouble.Garbage); // the first trouble is the one told
  }
});
