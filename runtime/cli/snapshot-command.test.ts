// holdfast snapshot: a picture of the size asked for, where it was asked for, the same for the same
// seed. Sizes are read from the bytes of the file.

import { expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fakeContext, freshFolder } from "./fixture.ts";
import { runProgram } from "./program.ts";

const folder = freshFolder();

async function snap(...args: readonly string[]) {
  const context = fakeContext();
  const exitCode = await runProgram(["snapshot", ...args], context);
  return { exitCode, out: context.out.text, err: context.err.text };
}

/** Width and height in a JPEG's own frame header. */
function sizeOf(jpeg: Buffer): string {
  let at = 2;
  while (jpeg[at + 1] !== 0xc0 && jpeg[at + 1] !== 0xc2) at += 2 + jpeg.readUInt16BE(at + 2);
  return `${jpeg.readUInt16BE(at + 7)}x${jpeg.readUInt16BE(at + 5)}`;
}

test("a picture has the size asked for and replaces what was there", async () => {
  const file = join(folder, "a.jpg");
  writeFileSync(file, "old");
  expect(await snap("so101", "--size", "64x48", file)).toEqual({
    exitCode: 0,
    out: `wrote ${file}, 64x48\n`,
    err: "",
  });
  expect(sizeOf(readFileSync(file))).toBe("64x48");
});

test("a seed names the picture: the same twice, another for another", async () => {
  const files = ["b.jpg", "c.jpg", "d.JPEG"].map((name) => join(folder, name));
  for (const [index, seed] of [5, 5, 6].entries()) {
    await snap(
      "so101",
      "--task",
      "pick_place",
      "--size",
      "96x72",
      "--seed",
      `${seed}`,
      files[index]!,
    );
  }
  const [first, second, third] = files.map((file) => readFileSync(file).toString("base64"));
  expect([first === second, first === third]).toEqual([true, false]);
});

test("a file that cannot be written is bad input", async () => {
  mkdirSync(join(folder, "taken.jpg"));
  const cases: [path: string, expected: string, found: string][] = [
    ["no/a.jpg", "a file in a folder that is there", `no ${JSON.stringify(join(folder, "no"))}`],
    ["taken.jpg", "a place to write", `a folder at ${JSON.stringify(join(folder, "taken.jpg"))}`],
  ];
  for (const [path, expected, found] of cases) {
    expect(await snap("so101", "--size", "16x16", join(folder, path))).toEqual({
      exitCode: 2,
      out: "",
      err: `holdfast: Cannot use OUT.jpg: expected ${expected}, found ${found}\n`,
    });
  }
});
