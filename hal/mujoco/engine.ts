// Engine: the physics library, one WebAssembly instance per thread. The wasm file is embedded, so
// the same line loads it from source, from a Worker and from the compiled binary.
//
// The library is a debug-checked Emscripten build: every property of its objects is a call into
// glue code (1.4 µs for an array view, bun 1.4.5, x64). Whoever needs an array keeps the view and
// fetches it again when its length is 0, which is what growing wasm memory does to it.

import loadMujoco from "@mujoco/mujoco";
import type { MainModule } from "@mujoco/mujoco";
import wasmPath from "@mujoco/mujoco/mujoco.wasm" with { type: "file" };
import { embeddedBytes } from "../embedded.ts";

export type Mujoco = MainModule;

let loading: Promise<Mujoco> | undefined;

/** Loads the library once per thread; 0.3 to 0.8 s the first time. Its own output is discarded:
 * what it has to say arrives as an exception or as a world fault. */
export function loadEngine(): Promise<Mujoco> {
  loading ??= instantiate();
  return loading;
}

async function instantiate(): Promise<Mujoco> {
  const wasmBinary = await embeddedBytes(wasmPath);
  return loadMujoco({ wasmBinary, print: discard, printErr: discard });
}

function discard(): void {
  // nothing to say
}
