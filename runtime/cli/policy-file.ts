// What `--policy` names as a file, looked at before anything is started: that it is there, and for
// a model that the YAML beside it is one.

import { existsSync } from "node:fs";
import { loadOnnxMapping } from "../profile/load.ts";
import { quoted, UsageError } from "./usage.ts";

/** False when it names no file. Throws UsageError and ProfileError. */
export async function checkPolicyFile(policy: string): Promise<boolean> {
  const { isOnnxPath, isPolicyPath, onnxMappingPath } = await import("../policy/policy-kind.ts");
  if (!isPolicyPath(policy)) return false;
  if (!existsSync(policy)) {
    throw new UsageError("--policy", "a file", `nothing at ${quoted(policy)}`);
  }
  if (isOnnxPath(policy)) loadOnnxMapping(onnxMappingPath(policy));
  return true;
}
