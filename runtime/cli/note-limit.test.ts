// Notes that come too often, in made-up time: the first of a second is shown, the others are
// counted, the last of them is told, and no count is lost or told twice. What keeps coming is shown
// ever more rarely.

import { expect, test } from "bun:test";
import { NoteLimit } from "./note-limit.ts";

test("one note a second is shown, and how many were not", () => {
  const shown: string[] = [];
  const limit = new NoteLimit((text) => shown.push(text));
  for (let index = 0; index < 300; index += 1) limit.note(`note ${index}`, index * 5e6);
  limit.tell(1.999e9);
  limit.tell(2e9);
  limit.tell(9e9);
  expect(shown).toEqual([
    "note 0",
    "… 199 more such notes, the last: note 199",
    "note 200",
    "… 99 more such notes, the last: note 299",
  ]);
});

test("a single note that was held back is shown as it is", () => {
  const shown: string[] = [];
  const limit = new NoteLimit((text) => shown.push(text));
  limit.note("connected", 0);
  limit.note("lost", 0.1e9);
  limit.tell(1e9);
  expect(shown).toEqual(["connected", "lost"]);
});

/** What is shown of notes that come every `everyS` until `untilS`, and when. */
function shownOf(everyS: number, untilS: number) {
  const shown: { readonly s: number; readonly text: string }[] = [];
  let s = 0;
  const limit = new NoteLimit((text) => shown.push({ s, text }));
  let noteCount = 0;
  for (let tick = 0; tick <= untilS * 20; tick += 1) {
    s = tick / 20;
    if (tick % Math.round(everyS * 20) === 0) {
      limit.note(`note ${noteCount}`, s * 1e9);
      noteCount += 1;
    } else limit.tell(s * 1e9);
  }
  s = Infinity;
  limit.tell(s);
  return { shown, noteCount };
}

/** How many notes a line stands for. */
const countIn = (text: string): number => Number(/^… (\d+) more/.exec(text)?.[1] ?? 1);

test.each([
  ["20 times a second", 0.05],
  ["once a second", 1],
])("texts that differ, %s for an hour, are a few lines a minute, and none is lost", (_, everyS) => {
  const { shown, noteCount } = shownOf(everyS, 3_600);
  expect(shown.slice(0, 2).map(({ s }) => s)).toEqual([0, 1]);
  for (let minute = 1; minute < 60; minute += 1) {
    const inIt = shown.filter(({ s }) => s >= minute * 60 && s < (minute + 1) * 60);
    expect(inIt.length).toBeLessThanOrEqual(minute < 3 ? 4 : 2);
  }
  expect(shown.length).toBeLessThanOrEqual(135);
  expect(shown.reduce((sum, { text }) => sum + countIn(text), 0)).toBe(noteCount);
  expect(shown.at(-1)?.text).toEndWith(`note ${noteCount - 1}`);
});

test("notes that come now and then are each shown at once, also after a storm that is over", () => {
  const { shown, noteCount } = shownOf(2, 60);
  expect(shown.map(({ text }) => text)).toEqual(
    Array.from({ length: noteCount }, (_, index) => `note ${index}`),
  );
  const told: string[] = [];
  const limit = new NoteLimit((text) => told.push(text));
  for (let ms = 0; ms < 600_000; ms += 50) limit.note("storm", ms * 1e6);
  limit.tell(700e9);
  told.length = 0;
  limit.note("lost", 800e9);
  limit.note("connected", 801e9);
  expect(told).toEqual(["lost", "connected"]);
});

test("how things stand now is told no later than the storm before it lasted", () => {
  const told: string[] = [];
  let ns = 0;
  const limit = new NoteLimit((text) => told.push(text));
  for (; ns < 20e9; ns += 0.1e9) limit.note("lost", ns);
  limit.note("connected", ns);
  for (; ns < 40e9; ns += 0.1e9) limit.tell(ns);
  expect(told.at(-1)).toEndWith("connected");
});
