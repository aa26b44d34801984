// The SO-101 with rows of 50 ms instead of 20 ms, anchored at the observation: sixteen of them
// bridge a policy that thinks for 250 ms. A file: host and run are told of a robot by its profile.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const PROFILES = join(import.meta.dir, "../profiles");
const changes: readonly (readonly [string, string])[] = [
  ["dt_ms: 20", "dt_ms: 50"],
  ["anchoring: arrival", "anchoring: observation"],
  ["models/so101.xml", join(PROFILES, "models/so101.xml")],
];

/** Writes it into `folder`; its path. */
export function writeSlowRows(folder: string): string {
  let text = readFileSync(join(PROFILES, "so101.yaml"), "utf8");
  for (const [from, to] of changes) {
    if (!text.includes(from)) throw new Error(`Cannot write the profile: no "${from}" in so101`);
    text = text.replace(from, to);
  }
  const path = join(folder, "so101-slow-rows.yaml");
  writeFileSync(path, text);
  return path;
}
