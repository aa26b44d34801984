// Notes that come too often, in made-up time: the first of a second is shown, the others are
// counted, and no count is lost or told twice.

import { expect, test } from "bun:test";
import { NoteLimit } from "./note-limit.ts";

test("one note a second is shown, and how many were not", () => {
  const shown: string[] = [];
  const limit = new NoteLimit((text) => shown.push(text));
  for (let index = 0; index < 300; index += 1) limit.note(`note ${index}`, index * 5e6);
  limit.tell(1.999e9);
  limit.tell(2e9);
  limit.tell(9e9);
  expect(shown).toEqual(["note 0", "… 199 more such notes", "note 200", "… 99 more such notes"]);
});
