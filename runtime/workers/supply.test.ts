// Supply over a real pipe: both outputs closed are power, anything else and a writer that is gone
// are none, and no cut is overlooked.

import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FileDescriptor, makeFifo } from "../../hal/ffi/file-descriptor.ts";
import { Supply } from "./supply.ts";

const root = mkdtempSync(join(tmpdir(), "holdfast-supply-"));
afterAll(() => rmSync(root, { recursive: true }));

test("power follows both outputs, and a writer that is gone leaves none", () => {
  const path = join(root, "enable");
  makeFifo(path);
  const board = FileDescriptor.open(path);
  const supply = new Supply(path);
  const say = (...outputs: number[]): [boolean, boolean] => {
    board.write(Uint8Array.from(outputs), outputs.length);
    return [supply.take(), supply.hasPower];
  };
  expect([supply.take(), supply.hasPower]).toEqual([false, false]);
  expect(say(1)).toEqual([false, false]);
  expect(say(3)).toEqual([true, true]);
  expect([supply.take(), supply.hasPower]).toEqual([false, true]);
  expect(say(2)).toEqual([true, false]);
  expect(say(3)).toEqual([true, true]);
  expect(say(0, 3)).toEqual([true, true]); // cut and closed again between two looks
  board.close();
  expect([supply.take(), supply.hasPower]).toEqual([true, false]);
  expect([supply.take(), supply.hasPower]).toEqual([false, false]);
});
