// Tests of the fault grammar: what each form means as data, and for each way to be wrong the exact
// column, what was expected and what was found.

import { expect, test } from "bun:test";
import type { SourceProfile } from "../runtime/contracts/profile.ts";
import { duration } from "../runtime/contracts/units.ts";
import { FaultSpecError, parseFaultSpec } from "./fault-spec.ts";

function source(id: string, kind: SourceProfile["kind"]): SourceProfile {
  return {
    id,
    kind,
    periodNs: duration(5_000_000),
    validityNs: duration(15_000_000),
    joints: kind === "proprio" ? ["a", "b"] : [],
    measuresVelocity: true,
    measuresEffort: true,
    frame: "base",
  };
}

const sources = [
  source("arm", "proprio"),
  source("hand", "proprio"),
  source("cube_pose", "localization"),
  source("scene", "image"),
];

const always = { fromNs: 0, untilNs: Infinity, probabilityRatio: 1 };

const understood: [text: string, spec: object][] = [
  ["freeze:arm", { kind: "freeze", sourceIndex: 0, shiftNs: 0, noiseFactor: 0, ...always }],
  ["freeze:hand@2s+500ms", { sourceIndex: 1, fromNs: 2e9, untilNs: 2.5e9 }],
  ["drop:cube_pose%5", { kind: "drop", sourceIndex: 2, ...always, probabilityRatio: 0.05 }],
  ["delay:cube_pose=80ms", { kind: "delay", shiftNs: 80e6, ...always }],
  ["delay:scene=1.5s@10us", { sourceIndex: 3, shiftNs: 1.5e9, fromNs: 1e4, untilNs: Infinity }],
  ["noise:arm=0.01", { kind: "noise", noiseFactor: 0.01, shiftNs: 0 }],
  ["noise:arm=2e-3%12.5", { noiseFactor: 0.002, probabilityRatio: 0.125 }],
  ["corrupt:hand@1s%50", { kind: "corrupt", fromNs: 1e9, probabilityRatio: 0.5 }],
  [
    "future:arm=50ms@1s+200ms%100",
    { kind: "future", shiftNs: 50e6, fromNs: 1e9, untilNs: 1.2e9, probabilityRatio: 1 },
  ],
];

test.each(understood)("%s is understood", (text, expected) => {
  const [spec, ...others] = parseFaultSpec(text, sources);
  expect(others).toEqual([]);
  expect(spec).toMatchObject({ text, ...expected });
});

test("a kind of source means every source of that kind", () => {
  const specs = parseFaultSpec("drop:proprio%5", sources);
  expect(specs.map((spec) => spec.sourceIndex)).toEqual([0, 1]);
});

const times = "a time such as 500ms or 1.5s";
const kinds = "one of freeze, drop, delay, noise, corrupt, future";
const names = "a source: arm, hand, cube_pose, scene, proprio, localization, image";
const order = "the end, or =VALUE @FROM +DURATION %PROBABILITY in this order";

const refused: [text: string, column: number, expected: string, found: string][] = [
  ["", 1, kinds, "nothing"],
  ["frezee:arm", 1, kinds, '"frezee"'],
  ["freeze", 7, "a colon and a source", "nothing"],
  ["freeze:", 8, names, "nothing"],
  ["freeze:cube_pos", 8, names, '"cube_pos"'],
  ["freeze:arm=1", 11, "no value for freeze", '"=1"'],
  ["delay:arm", 10, "a value for delay, such as =80ms", "nothing"],
  ["noise:arm", 10, "a value for noise, such as =0.01", "nothing"],
  ["delay:arm=80", 11, times, '"80"'],
  ["delay:arm=-1ms", 11, times, '"-1ms"'],
  ["delay:arm=NaNms", 11, times, '"NaNms"'],
  ["delay:arm=0ms", 11, "more than 0 and at most 10s", '"0ms"'],
  ["delay:arm=11s", 11, "more than 0 and at most 10s", '"11s"'],
  ["noise:arm=0", 11, "a number above 0 and up to 1000000", '"0"'],
  ["noise:arm=Infinity", 11, "a number above 0 and up to 1000000", '"Infinity"'],
  ["noise:scene=1", 7, "a source without images for noise", '"scene"'],
  ["drop:arm@", 10, times, "nothing"],
  ["drop:arm@2", 10, times, '"2"'],
  ["drop:arm@2s+", 13, times, "nothing"],
  ["drop:arm@2s+x", 13, times, '"x"'],
  ["drop:arm@99999999999999999s", 10, times, '"99999999999999999s"'],
  ["drop:arm%", 10, "a number above 0 and up to 100", "nothing"],
  ["drop:arm%0", 10, "a number above 0 and up to 100", '"0"'],
  ["drop:arm%101", 10, "a number above 0 and up to 100", '"101"'],
  ["drop:arm%5@2s", 10, "a number above 0 and up to 100", '"5@2s"'],
  ["drop:arm+5s", 9, order, '"+5s"'],
  ["drop:arm@2s=1", 12, order, '"=1"'],
];

test.each(refused)("%p is refused with its place", (text, column, expected, found) => {
  let thrown: unknown;
  try {
    parseFaultSpec(text, sources);
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toBeInstanceOf(FaultSpecError);
  expect(thrown).toMatchObject({ code: "fault_spec", text, column, expected, found });
});

test("a misspelt kind or source is answered with the nearest one", () => {
  const message = (text: string): string => {
    try {
      parseFaultSpec(text, sources);
    } catch (error) {
      return (error as Error).message;
    }
    return "understood";
  };
  expect(message("frezee:arm")).toBe(
    `Cannot read fault "frezee:arm": column 1: expected ${kinds}, ` +
      'found "frezee" (did you mean "freeze"?)',
  );
  expect(message("drop:cube_pos")).toEndWith('found "cube_pos" (did you mean "cube_pose"?)');
  expect(message("drop:elephant")).toEndWith('found "elephant"');
});
