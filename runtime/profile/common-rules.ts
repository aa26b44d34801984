// Rules that hold in every kind of profile, beyond what a schema can say: whole nanoseconds, unique
// names, unit vectors, bounds in order. Each takes a tree that may break any other rule as well,
// finds nothing wrong with what is not there, and notes problems in the tree.

import { NS_PER_MS } from "../contracts/units.ts";
import { show } from "./problem.ts";
import type { Tree } from "./tree.ts";

/** How far a written unit vector may be from length one; it is then normalised. */
export const UNIT_TOLERANCE = 1e-3;

/** Every `…_ms` in the file is a whole, exact number of nanoseconds. */
export function checkDurations(tree: Tree): void {
  for (const pointer of tree.pointers) {
    if (!pointer.endsWith("_ms") && !pointer.endsWith("_ms_max")) continue;
    const ms = tree.number(pointer);
    if (Number.isNaN(ms)) continue;
    const ns = Math.round(ms * NS_PER_MS);
    // The decimal that a person wrote for so many ns, to the bit.
    const isWhole = Number.isSafeInteger(ns) && ns / NS_PER_MS === ms;
    if (!isWhole) tree.report(pointer, "a whole number of nanoseconds");
  }
}

/** No two entries of a list have the same text under `key`. */
export function checkUnique(tree: Tree, list: string, key: string): void {
  const seen = new Set<string>();
  for (const entry of tree.each(list)) {
    const name = tree.text(`${entry}/${key}`);
    if (name === "") continue;
    if (seen.has(name)) {
      tree.report(`${entry}/${key}`, "a name of its own", `a second "${name}"`);
    }
    seen.add(name);
  }
}

/** Not `Math.hypot`: engines differ in its last bit, and profiles feed what is replayed. */
export function lengthOf(parts: readonly number[]): number {
  return Math.sqrt(parts.reduce((sum, part) => sum + part * part, 0));
}

/** A vector or quaternion has length one. */
export function checkUnit(tree: Tree, pointer: string): void {
  const parts = tree.numbers(pointer);
  if (parts.length === 0) return;
  const length = lengthOf(parts);
  if (Math.abs(length - 1) > UNIT_TOLERANCE) {
    const found = `length ${Number(length.toPrecision(6))}`;
    tree.report(pointer, "a vector of length 1", found);
  }
}

/** The number at `upper` lies above the one at `lower`. */
export function checkAbove(tree: Tree, lower: string, upper: string): void {
  if (tree.number(upper) <= tree.number(lower)) {
    tree.report(upper, `more than ${nameOf(lower)} (${tree.number(lower)})`);
  }
}

/** The number at `pointer` is not below the one at `floor`. */
export function checkAtLeast(tree: Tree, pointer: string, floor: string): void {
  if (tree.number(pointer) < tree.number(floor)) {
    tree.report(pointer, `at least ${nameOf(floor)} (${tree.number(floor)})`);
  }
}

/** The number at `pointer` lies between two others, where both are known. */
export function checkWithin(tree: Tree, pointer: string, lower: string, upper: string): void {
  const value = tree.number(pointer);
  const [min, max] = [tree.number(lower), tree.number(upper)];
  const isOutside = value < min || value > max;
  if (isOutside && !Number.isNaN(min + max)) tree.report(pointer, `${min} to ${max}`, show(value));
}

/** How a message calls a field: by its key, and by its owner where that is no list entry. */
function nameOf(pointer: string): string {
  const parts = pointer.split("/");
  const owner = parts.at(-2) ?? "";
  if (/^\d+$/.test(parts.at(-1)!)) return `${owner}[${parts.at(-1)!}]`;
  return /^\d*$/.test(owner) ? parts.at(-1)! : `${owner}.${parts.at(-1)!}`;
}
