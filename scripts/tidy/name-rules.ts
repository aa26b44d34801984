// The rule that applies the table of names, and the rule that keeps casts to brands where the
// brands are made.

import { nameTable } from "./name-table.ts";
import type { Rule, Violation } from "./repository.ts";
import { isTest, isTypeScript, lineOf } from "./repository.ts";
import { perFile } from "./shape-rules.ts";
import type { Node } from "./syntax.ts";
import { dottedName, part, text, walk } from "./syntax.ts";

const UNITS = "runtime/contracts/units.ts";
const GATE = "safety/gate.ts";

/** Parts of a node that name something of its own instead of using a global. */
const NAMING_PARTS: Readonly<Record<string, string>> = {
  MemberExpression: "property",
  Property: "key",
  PropertyDefinition: "key",
  MethodDefinition: "key",
  TSPropertySignature: "key",
  TSMethodSignature: "key",
  ImportSpecifier: "imported",
};

const bannedNames = perFile("banned-name", (file, report) => {
  if (!isTypeScript(file.path)) return;
  const bans = nameTable.filter(
    (ban) =>
      !ban.home.some((home) => file.path.startsWith(home)) &&
      (ban.only === undefined || ban.only.some((only) => file.path.startsWith(only))) &&
      !(ban.testsFree === true && isTest(file.path)),
  );
  walk(file, (node, ancestors) => {
    const name = usedName(node, ancestors);
    if (name === "") return;
    for (const ban of bans) {
      if (!ban.names.includes(name)) continue;
      report(lineOf(file, node.start), `${name} is not used here: ${ban.instead}`);
    }
  });
});

/** Brands are read off the contracts, so that a new one needs no line here. */
const brandCasts: Rule = {
  name: "brand-cast",
  check: ({ files }) => {
    const homes = new Map<string, string>([["ApprovedCommand", GATE]]);
    const units = files.find((file) => file.path === UNITS);
    if (units !== undefined) {
      walk(units, (node) => {
        if (node.type !== "TSTypeAliasDeclaration") return;
        const source = units.text.slice(node.start, node.end);
        if (source.includes("& Unit<")) homes.set(text(part(node, "id"), "name"), UNITS);
      });
    }
    const violations: Violation[] = [];
    for (const file of files) {
      walk(file, (node) => {
        if (node.type !== "TSAsExpression" && node.type !== "TSTypeAssertion") return;
        const name = text(part(part(node, "typeAnnotation"), "typeName"), "name");
        const home = homes.get(name);
        if (home === undefined || home === file.path) return;
        const message = `cast to ${name}: only ${home} may; call what it exports`;
        violations.push({
          path: file.path,
          line: lineOf(file, node.start),
          rule: "brand-cast",
          message,
        });
      });
    }
    return violations;
  },
};

export const nameRules: readonly Rule[] = [bannedNames, brandCasts];

/** The global, member or module that a node uses; empty when it uses none or names its own. */
function usedName(node: Node, ancestors: readonly Node[]): string {
  const parent = ancestors[ancestors.length - 1];
  if (node.type === "MemberExpression") {
    return dottedName(node).replace(/^globalThis\./, "");
  }
  if (node.type === "Literal" && parent !== undefined && part(parent, "source") === node) {
    return text(node, "value");
  }
  if (node.type !== "Identifier" || parent === undefined) return "";
  const naming = NAMING_PARTS[parent.type];
  if (naming !== undefined && part(parent, naming) === node && parent["computed"] !== true) {
    return parent["shorthand"] === true ? text(node, "name") : "";
  }
  return text(node, "name");
}
