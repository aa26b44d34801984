// That a frozen value refuses every change at every depth, and what stays open: numbers in a typed
// array, and values that hold nothing.

import { expect, test } from "bun:test";
import { deepFreeze } from "./frozen.ts";

test("nothing inside a frozen value can be changed, added or removed", () => {
  const value = deepFreeze({ list: [{ limit: 1 }], none: null, text: "a" });
  const attempts = [
    () => {
      value.list[0]!.limit = 2;
    },
    () => value.list.push({ limit: 3 }),
    () => {
      value.text = "b";
    },
    () => Object.assign(value, { more: 1 }),
  ];
  for (const attempt of attempts) expect(attempt).toThrow(TypeError);
  expect(Reflect.deleteProperty(value, "text")).toBe(false);
  expect(value).toEqual({ list: [{ limit: 1 }], none: null, text: "a" });
});

test("numbers in a typed array stay open, and a plain value is given back", () => {
  const value = deepFreeze({ numbers: new Float64Array(1) });
  value.numbers[0] = 5;
  expect([value.numbers[0], deepFreeze(7), deepFreeze(null)]).toEqual([5, 7, null]);
});
