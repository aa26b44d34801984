// What a host's policy is known by: the bytes of its files, wherever they lie, or for one that
// ships its name.

import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { policyDigest } from "./policy-digest.ts";

const folder = mkdtempSync(join(tmpdir(), "hf-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Writes files of a policy in a folder of this name; the path of the one of this ending. */
function written(name: string, files: Readonly<Record<string, string>>, ending: string): string {
  const there = join(folder, name);
  mkdirSync(there, { recursive: true });
  for (const [file, text] of Object.entries(files)) writeFileSync(join(there, file), text);
  return join(there, `mine.${ending}`);
}

const digestOf = (named: string): string => Buffer.from(policyDigest(named)).toString("hex");

test("a module is known by its bytes, wherever it lies", () => {
  const module = digestOf(written("a", { "mine.ts": "1" }, "ts"));
  // As sha256sum has it, and as the Python host does.
  expect(module).toBe("6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b");
  expect(digestOf(written("b", { "mine.ts": "1" }, "ts"))).toBe(module);
  expect(digestOf(written("b", { "mine.ts": "2" }, "ts"))).not.toBe(module);
});

test("a model is known by its weights and by what they mean", () => {
  const files = { "mine.onnx": "weights", "mine.yaml": "meaning" };
  const model = digestOf(written("c", files, "onnx"));
  expect(digestOf(written("d", files, "onnx"))).toBe(model);
  const others = [
    { ...files, "mine.onnx": "weight" },
    { ...files, "mine.yaml": "other" },
    { "mine.onnx": "weightsm", "mine.yaml": "eaning" },
  ].map((other, index) => digestOf(written(`e${index}`, other, "onnx")));
  expect(new Set([model, ...others]).size).toBe(4);
});

test("one that ships is known by its name, and what is not there by nothing", () => {
  expect(digestOf("sine")).toBe(digestOf("sine"));
  expect(digestOf("sine")).not.toBe(digestOf("hold"));
  expect(digestOf(join(folder, "nowhere.ts"))).toBe("");
});
