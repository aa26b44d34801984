// Requirement identifiers: a line that implements one names it in a comment, and a test names it
// too, so that a requirement without a test shows.

import type { Rule, Violation } from "./repository.ts";
import { isTest, lineOf } from "./repository.ts";

const REQUIREMENT = /\b[A-Z]{2,6}(?:-[A-Z]{2,6})+-[0-9]{3}\b/g;

const requirementTests: Rule = {
  name: "requirement-test",
  check: ({ files }) => {
    const tested = new Set<string>();
    for (const file of files) {
      if (isTest(file.path)) for (const id of file.text.match(REQUIREMENT) ?? []) tested.add(id);
    }
    const violations: Violation[] = [];
    for (const file of files) {
      if (isTest(file.path)) continue;
      for (const comment of file.syntax?.comments ?? []) {
        for (const id of comment.value.match(REQUIREMENT) ?? []) {
          if (tested.has(id)) continue;
          const message = `${id} has no test: name it in the test that proves it`;
          const line = lineOf(file, comment.start);
          violations.push({ path: file.path, line, rule: "requirement-test", message });
        }
      }
    }
    return violations;
  },
};

export const referenceRules: readonly Rule[] = [requirementTests];
