// Notes that come too often, in made-up time: the first of a second is shown, the others are
// counted, the last of them is told, and no count is lost or told twice.

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
