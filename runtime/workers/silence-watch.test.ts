// Tests of when a thread has been silent for too long: at the edge, after a sign of life, and when
// it was the watcher that stood still.

import { expect, test } from "bun:test";
import { duration, instant, milliseconds } from "../contracts/units.ts";
import { SilenceWatch } from "./silence-watch.ts";

const at = (ms: number) => instant(milliseconds(ms));

test("a count that stands still is silence, one that moves begins anew", () => {
  const watch = new SilenceWatch(milliseconds(200), 7, at(1_000));
  expect(watch.isSilent(7, at(1_099))).toBe(false);
  expect(watch.isSilent(7, at(1_199))).toBe(false);
  expect(watch.isSilent(8, at(1_200))).toBe(false);
  expect(watch.isSilent(8, at(1_300))).toBe(false);
  expect(watch.isSilent(8, at(1_399))).toBe(false);
  expect(watch.isSilent(8, at(1_400))).toBe(true);
});

test("a pause of the watcher counts as one look, however long it was", () => {
  const watch = new SilenceWatch(milliseconds(200), 0, at(0));
  expect(watch.isSilent(0, at(1e6))).toBe(false);
  expect(watch.isSilent(0, at(1e6 + 99))).toBe(false);
  expect(watch.isSilent(0, at(1e6 + 100))).toBe(true);
});

test("no patience at all is silence at the first look", () => {
  expect(new SilenceWatch(duration(0), 0, at(0)).isSilent(0, at(0))).toBe(true);
});
