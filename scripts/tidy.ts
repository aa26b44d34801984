// Tidy: the style guide as a test. Reads every file of the repository once, applies the tables and
// rules of scripts/tidy/, prints each violation with its place, rule and replacement, and fails
// when there is one. It changes no file.

import { join } from "node:path";
import { assertionRules } from "./tidy/assertion-rules.ts";
import { documentRules } from "./tidy/document-rules.ts";
import { hotRules } from "./tidy/hot-rules.ts";
import { importRules } from "./tidy/import-rules.ts";
import { nameRules } from "./tidy/name-rules.ts";
import { referenceRules } from "./tidy/reference-rules.ts";
import type { Repository, Rule, Violation } from "./tidy/repository.ts";
import { readRepository } from "./tidy/repository.ts";
import { shapeRules } from "./tidy/shape-rules.ts";
import { tokenRules } from "./tidy/token-rules.ts";
import { typeRules } from "./tidy/type-rules.ts";

export const rules: readonly Rule[] = [
  ...shapeRules,
  ...documentRules,
  ...importRules,
  ...nameRules,
  ...typeRules,
  ...hotRules,
  ...referenceRules,
  ...tokenRules,
  ...assertionRules,
];

/** Every violation of every rule, in order of place. */
export function tidy(repository: Repository): Violation[] {
  const violations = rules.flatMap((rule) => rule.check(repository));
  return violations.sort((a, b) =>
    a.path === b.path ? a.line - b.line : a.path < b.path ? -1 : 1,
  );
}

if (import.meta.main) {
  const repository = readRepository(join(import.meta.dir, ".."));
  const violations = tidy(repository);
  for (const { path, line, rule, message } of violations) {
    console.log(`${path}:${line}: ${rule}: ${message}`);
  }
  const count = repository.files.length;
  console.log(`tidy: ${count} files, ${rules.length} rules, ${violations.length} violations`);
  process.exit(violations.length === 0 ? 0 : 1);
}
