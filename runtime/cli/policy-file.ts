// What `--policy` names as a file, looked at before anything is started: that it is a file of a
// kind that can be a policy, and for a model that the YAML beside it is one.

import { loadOnnxMapping } from "../profile/load.ts";
import { fileKind, NOTHING, REGULAR_FILE } from "./file-kind.ts";
import { quoted, UsageError } from "./usage.ts";

/** False when it names no file. Throws UsageError and ProfileError. */
export async function checkPolicyFile(policy: string): Promise<boolean> {
  const { hasPolicyEnding, isOnnxPath, isPolicyPath, onnxMappingPath } = await import(
    "../policy/policy-kind.ts"
  );
  if (!isPolicyPath(policy)) return false;
  const kind = fileKind(policy);
  if (kind !== REGULAR_FILE) {
    const expected = kind === NOTHING ? "a file" : REGULAR_FILE;
    throw new UsageError("--policy", expected, `${kind} at ${quoted(policy)}`);
  }
  if (!hasPolicyEnding(policy)) {
    throw new UsageError("--policy", "a .ts, .js or .onnx file", quoted(policy));
  }
  if (isOnnxPath(policy)) loadOnnxMapping(onnxMappingPath(policy));
  return true;
}
