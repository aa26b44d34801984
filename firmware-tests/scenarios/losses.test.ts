// The loss table against the real core: each row at 50 phases of the tick, in virtual time. What
// the table says is what was measured, to the tenth of a millisecond, and the oracle sees only what
// left the core. Then who may let the robot move again, and who may not.

import { expect, test } from "bun:test";
import { faultNames } from "../../safety/faults.ts";
import { noteFigure } from "../figures.ts";
import { LossCell, PHASE_COUNT, TROUBLE_NS } from "./loss-cell.ts";
import { attempts, goesOnByItself, measure, modeAfterEarlyReset } from "./loss-run.ts";
import type { Measured } from "./loss-run.ts";
import { losses } from "./losses.ts";
import type { Loss, Rearm } from "./loss.ts";
import { fastestToolMPerS } from "./tool-speed.ts";

/** For who may re-arm, one phase is enough: nothing of it lies between two ticks. */
const ANY_PHASE = 11;

/** The figures of a row over all phases. */
function worst(loss: Loss): Pick<Measured, "withinMs" | "holdAfterMs" | "pathMs"> {
  const all = Array.from({ length: PHASE_COUNT }, (_, phase) => measure(loss, phase));
  const most = (values: readonly number[]): number => Math.max(...values);
  const names = new Set(all.map(({ pathMs }) => pathMs.map(([mode]) => mode).join()));
  if (names.size !== 1)
    throw new Error(`The phases differ in their modes: ${[...names].join("; ")}`);
  const pathMs = all[0]!.pathMs.map(
    ([mode], at) => [mode, most(all.map((each) => each.pathMs[at]![1]))] as const,
  );
  const holdAfterMs = most(all.map((each) => each.holdAfterMs));
  return { withinMs: most(all.map((each) => each.withinMs)), holdAfterMs, pathMs };
}

test.each(losses)("$id: detected, held and stopped when the table says", (loss) => {
  const { withinMs, holdAfterMs, pathMs } = loss;
  const measured = worst(loss);
  noteFigure({
    part: "loss table",
    case: loss.id,
    measured: `detected within ${measured.withinMs} ms`,
    limit: `${withinMs} ms`,
    tries: `${PHASE_COUNT} phases`,
  });
  expect(measured).toEqual({ withinMs, holdAfterMs, pathMs });
});

/** Faults of no row here: the e-stop's have rows of their own, the buffer refuses before a tick. */
const elsewhere = ["schema_mismatch", "width_mismatch", "not_finite"];

test("every fault has its row", () => {
  const detected = new Set(losses.flatMap(({ detect }) => ("name" in detect ? [detect.name] : [])));
  const stops = losses.some(({ id }) => id === "person-stops") ? ["operator_stop"] : [];
  const known = new Set<string>([...detected, ...stops, ...elsewhere]);
  expect(faultNames.filter((name) => !known.has(name) && !name.startsWith("estop_"))).toEqual([]);
});

const nobodyElse = {
  nobody: false,
  "a start": false,
  "a reset": false,
  "a start, then a reset": false,
  "a reset and a start at once": false,
};
const everything = {
  nobody: true,
  "a start": true,
  "a reset": true,
  "a start, then a reset": true,
  "a reset and a start at once": true,
  "a reset, then a start": true,
};
const person = { ...nobodyElse, "a reset, then a start": true };
const allowed: Readonly<Record<Rearm, Readonly<Record<string, boolean>>>> = {
  nobody: everything,
  nobody_then_person: person,
  person,
  restart: { ...nobodyElse, "a reset, then a start": false },
};

test.each(losses)("$id: moves again by $rearm, and by nothing else", (loss) => {
  const { rearm, isEvent = false } = loss;
  const whileItLasts = isEvent || (rearm === "nobody" && loss.holdAfterMs === Infinity);
  expect(attempts(loss, ANY_PHASE)).toEqual({
    "while it lasts": whileItLasts,
    ...allowed[rearm],
  });
  expect(goesOnByItself(loss, ANY_PHASE)).toBe(rearm.startsWith("nobody"));
});

/** The fastest tool speed of what left the core in half a second from the trouble on, in m/s. */
function toolMPerS(lengthNs: number): number {
  const { provoke } = losses.find(({ id }) => id === "policy-slow")!;
  const cell = new LossCell({ provoke, phaseIndex: ANY_PHASE, lengthNs });
  cell.runUntil(TROUBLE_NS + 500e6);
  // It is slowed as a motion is, not at once.
  return fastestToolMPerS(cell, TROUBLE_NS + 100e6);
}

test("policy-slow: the tool keeps to 250 mm/s, and would be faster", () => {
  expect(toolMPerS(Infinity)).toBeLessThan(0.25 + 1e-4);
  expect(toolMPerS(0)).toBeGreaterThan(0.4);
});

const latching = losses.filter(({ pathMs }) => pathMs.some(([mode]) => mode === "FAULT_LATCHED"));
test.each(latching)("$id: a reset while it lasts is refused", (loss) => {
  expect(modeAfterEarlyReset(loss, ANY_PHASE)).toBe("FAULT_LATCHED");
});
