// Embedded files come out the same from source and from a binary. The one packs them, the other
// does not: both are files here, written as either would have them.

import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import mujocoWasm from "@mujoco/mujoco/mujoco.wasm" with { type: "file" };
import { embeddedBytes } from "./embedded.ts";

const WASM = [0x00, 0x61, 0x73, 0x6d];

test("a file that was packed is unpacked, any other is given as it is", async () => {
  const folder = mkdtempSync(join(tmpdir(), "hf-"));
  try {
    const plain = await Bun.file(mujocoWasm).bytes();
    const cases = { plain, packed: Bun.zstdCompressSync(plain), short: Uint8Array.of(0x28, 0xb5) };
    for (const [name, bytes] of Object.entries(cases)) await Bun.write(join(folder, name), bytes);
    const [first, second, third] = await Promise.all(
      Object.keys(cases).map((name) => embeddedBytes(join(folder, name))),
    );
    expect([...first!.slice(0, 4)]).toEqual(WASM);
    expect(Bun.hash(first!)).toBe(Bun.hash(plain));
    expect(Bun.hash(second!)).toBe(Bun.hash(plain));
    expect([...third!]).toEqual([0x28, 0xb5]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
