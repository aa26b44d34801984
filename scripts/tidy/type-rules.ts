// The rule that every number field of an exported type says its unit, because a number that
// crosses a file border without one is how radians become degrees.

import { isTest, lineOf } from "./repository.ts";
import type { Rule } from "./repository.ts";
import { perFile } from "./shape-rules.ts";
import type { Node } from "./syntax.ts";
import { part, parts, text, walk, walkNode } from "./syntax.ts";
import { plainWords, qualifiers, unitSuffixes } from "./unit-table.ts";

const EXPORTABLE = new Set(["TSTypeAliasDeclaration", "TSInterfaceDeclaration"]);
const NESTED_TYPES = new Set(["TSFunctionType", "TSTypeParameterInstantiation", "TSTypeLiteral"]);

const unitSuffix = perFile("unit-suffix", (file, report) => {
  if (isTest(file.path) || file.path.startsWith("scripts/")) return;
  walk(file, (node, ancestors) => {
    const parent = ancestors[ancestors.length - 1];
    if (!EXPORTABLE.has(node.type) || parent?.type !== "ExportNamedDeclaration") return;
    walkNode(node, [], (field, above) => {
      if (field.type !== "TSPropertySignature" || !holdsNumber(part(field, "typeAnnotation")))
        return;
      const name = nameOf(field);
      const owner = above.findLast((each) => each.type === "TSPropertySignature");
      if (saysUnit(name) || (owner !== undefined && isQualified(name, nameOf(owner)))) return;
      const message = `${name}: end it with a unit or Count, as scripts/tidy/unit-table.ts lists`;
      report(lineOf(file, field.start), message);
    });
  });
});

export const typeRules: readonly Rule[] = [unitSuffix];

/** Whether a name ends with a unit and at most two qualifiers, or with a word that has no unit. */
export function saysUnit(name: string): boolean {
  const camel = name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
  let rest = camel;
  for (let count = 0; count < 3; count += 1) {
    if (unitSuffixes.some((suffix) => endsWithWord(rest, suffix))) return true;
    if (plainWords.some((word) => endsWithWord(rest, word))) return true;
    const qualifier = qualifiers.find((each) => endsWithWord(rest, each));
    if (qualifier === undefined) return false;
    rest = rest.slice(0, -qualifier.length);
  }
  return false;
}

/** `p99` inside `wakeUs`: the owner has the unit, the field only tells which of them. */
function isQualified(name: string, owner: string): boolean {
  return saysUnit(owner) && qualifiers.some((each) => each.toLowerCase() === name.toLowerCase());
}

/** The whole name, or its last word or words in camel case. */
function endsWithWord(name: string, word: string): boolean {
  const capital = `${word.charAt(0).toUpperCase()}${word.slice(1)}`;
  const small = `${word.charAt(0).toLowerCase()}${word.slice(1)}`;
  return (
    name === small || name === word || (name.endsWith(capital) && name.length > capital.length)
  );
}

function nameOf(field: Node): string {
  const key = part(field, "key");
  return text(key, "name") || text(key, "value");
}

/** A number, or a list, tuple or union with one; not a function, an object or a branded number. */
function holdsNumber(type: Node | undefined): boolean {
  if (type === undefined || NESTED_TYPES.has(type.type)) return false;
  if (type.type === "TSNumberKeyword") return true;
  const lists = ["types", "elementTypes"].flatMap((key) => parts(type, key));
  const inner = ["typeAnnotation", "elementType"].map((key) => part(type, key));
  return [...lists, ...inner].some((each) => each !== undefined && holdsNumber(each));
}
