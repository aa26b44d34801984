// What a policy host serves, as a digest that a robot's run holds it to: a host that was restarted
// with another file of the same name is another policy. What a module imports is not digested:
// which files those are is only known as they are run.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import packageFacts from "../../package.json" with { type: "json" };
import { isPolicyPath, onnxMappingPath, policyKind } from "../policy/policy-kind.ts";

const sha256 = (bytes: string | Uint8Array): Buffer => createHash("sha256").update(bytes).digest();

/**
 * SHA-256 of a policy's file; of a model over the digests of its file and its YAML; of its name and
 * this program's version for one that ships. Empty for what cannot be read: its loader says why.
 */
export function policyDigest(named: string): Uint8Array {
  if (!isPolicyPath(named)) return sha256(`holdfast ${packageFacts.version} ${named}`);
  try {
    const file = sha256(readFileSync(named));
    if (policyKind(named) !== "model") return file;
    return sha256(Buffer.concat([file, sha256(readFileSync(onnxMappingPath(named)))]));
  } catch {
    return new Uint8Array(0);
  }
}
