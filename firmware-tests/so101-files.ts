// The SO-101 as a file of a user's own, changed in one way: host and run are told of a robot by its
// profile.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Anchoring, PictureEncoding } from "../runtime/contracts/profile.ts";

const PROFILES = join(import.meta.dir, "../profiles");

function write(folder: string, name: string, from: string, to: string): string {
  let text = readFileSync(join(PROFILES, "so101.yaml"), "utf8");
  const model = ["models/so101.xml", join(PROFILES, "models/so101.xml")] as const;
  for (const [old, fresh] of [[from, to] as const, model]) {
    if (!text.includes(old)) throw new Error(`Cannot write the profile: no "${old}" in so101`);
    text = text.replace(old, fresh);
  }
  const path = join(folder, `so101-${name}.yaml`);
  writeFileSync(path, text);
  return path;
}

/**
 * With rows of 50 ms instead of 20 ms: sixteen of them bridge a policy that thinks for 250 ms.
 * Written into `folder`; its path.
 */
export const writeSlowRows = (folder: string): string =>
  write(folder, "slow-rows", "dt_ms: 20", "dt_ms: 50");

/** With a word on where chunks lie in time. */
export const writeAnchored = (folder: string, anchoring: Anchoring): string =>
  write(folder, anchoring, "dt_ms: 20", `dt_ms: 20\n  anchoring: ${anchoring}`);

/** With a word on how its pictures go to a host. */
export const writePictures = (folder: string, encoding: PictureEncoding): string =>
  write(folder, encoding, "dt_ms: 20", `dt_ms: 20\n  picture_encoding: ${encoding}`);
