// Opens a policy from an ONNX file in the thread that will run it, with the YAML beside it. What
// does not fit is refused with its place in the YAML, before anything moves.

import { readFileSync } from "node:fs";
import { embeddedBytes } from "../../hal/embedded.ts";
import type { Policy } from "../contracts/policy.ts";
import type { OnnxModel } from "../policy/onnx-engine.ts";
import type { PolicyContext } from "../policy/context.ts";
import { errorText } from "../policy/error-text.ts";
import { onnxMappingPath } from "../policy/policy-kind.ts";
import { PolicyError } from "../policy/policy-error.ts";
import { loadOnnxMapping, misfitError } from "../profile/load.ts";

/** Throws PolicyError and ProfileError. */
export async function openOnnx(path: string, context: PolicyContext): Promise<Policy> {
  const mapping = loadOnnxMapping(onnxMappingPath(path));
  const model = await loadModel(path);
  const { onnxMisfits } = await import("../policy/onnx-fit.ts");
  const { OnnxPolicy } = await import("../policy/onnx-policy.ts");
  const misfits = onnxMisfits(mapping, model, context);
  if (misfits.length > 0) throw misfitError(mapping, misfits);
  const policy = new OnnxPolicy(mapping, model, context);
  await attempt(path, "an answer to zeros", () => policy.warmUp());
  return policy;
}

/** Loads a model in its engine, without what it means. Throws PolicyError. */
export async function loadModel(path: string): Promise<OnnxModel> {
  // Only a run with a model loads the engine: 14 MB of WebAssembly.
  const { ONNX_WASM_PATH, OnnxModel } = await import("../policy/onnx-engine.ts");
  const expected = "a model that onnxruntime runs";
  const wasm = await embeddedBytes(ONNX_WASM_PATH);
  return attempt(path, expected, () => OnnxModel.load(readFileSync(path), wasm));
}

async function attempt<T>(path: string, expected: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (cause) {
    const facts = { place: path, expected, found: errorText(cause), cause };
    throw new PolicyError("bad_model", `Cannot load policy "${path}"`, facts);
  }
}
