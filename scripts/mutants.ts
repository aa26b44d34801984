// Makes mutants of a source file: each differs from it in one token or one statement, and each
// should make a test fail. Types, imports and assertions are left alone, because no test can see
// the first two and the third states what other tests already prove. The order is that of the file.

import type { Node } from "./tidy/syntax.ts";
import { dottedName, part, text, walk } from "./tidy/syntax.ts";
import { lineOf, sourceFile } from "./tidy/repository.ts";

export type Mutant = {
  readonly path: string;
  readonly line: number;
  /** What was changed, as `< to <=`. */
  readonly change: string;
  /** The whole mutated file. */
  readonly text: string;
};

/** What an operator becomes. */
const OPERATORS: Readonly<Record<string, string>> = {
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "===": "!==",
  "!==": "===",
  "+": "-",
  "-": "+",
  "*": "/",
  "/": "*",
  "&&": "||",
  "||": "&&",
  "+=": "-=",
  "-=": "+=",
};

/** Type syntax that holds no run-time code. These wrap an expression and are no types. */
const TYPE_WRAPPERS = new Set(["TSAsExpression", "TSNonNullExpression", "TSSatisfiesExpression"]);

type Edit = { readonly from: number; readonly until: number; readonly to: string };

/** Every mutant of one file. */
export function mutantsOf(path: string, source: string): Mutant[] {
  const file = sourceFile(path, source);
  const mutants: Mutant[] = [];
  walk(file, (node, ancestors) => {
    if (isLeftAlone(node, ancestors)) return;
    const edit = editOf(node, ancestors, source);
    if (edit === undefined) return;
    const was = source.slice(edit.from, edit.until).split("\n")[0] ?? "";
    mutants.push({
      path,
      line: lineOf(file, edit.from),
      change: edit.to === ";" ? `without ${was}` : `${was} to ${edit.to}`,
      text: source.slice(0, edit.from) + edit.to + source.slice(edit.until),
    });
  });
  return mutants;
}

function editOf(node: Node, ancestors: readonly Node[], source: string): Edit | undefined {
  switch (node.type) {
    case "BinaryExpression":
    case "LogicalExpression":
    case "AssignmentExpression":
      return operatorEdit(node, ancestors, source);
    case "UnaryExpression": {
      const argument = part(node, "argument");
      const removable = ["!", "-"].includes(text(node, "operator"));
      if (!removable || argument === undefined) return undefined;
      const to = source.slice(argument.start, argument.end);
      return { from: node.start, until: node.end, to };
    }
    case "Literal":
      if (typeof node["value"] !== "boolean") return undefined;
      return { from: node.start, until: node.end, to: String(!node["value"]) };
    case "ReturnStatement":
      return { from: node.start, until: node.end, to: ";" };
    case "ExpressionStatement":
      return isSuperCall(node) ? undefined : { from: node.start, until: node.end, to: ";" };
    default:
      return undefined;
  }
}

function operatorEdit(node: Node, ancestors: readonly Node[], source: string): Edit | undefined {
  const operator = text(node, "operator");
  const to = OPERATORS[operator];
  const left = part(node, "left");
  const right = part(node, "right");
  if (to === undefined || left === undefined || right === undefined) return undefined;
  // A loop that counts the other way only shows that the test runner has a time limit.
  const parent = ancestors[ancestors.length - 1];
  if (parent?.type === "ForStatement" && part(parent, "update") === node) return undefined;
  const from = left.end + source.slice(left.end, right.start).lastIndexOf(operator);
  return { from, until: from + operator.length, to };
}

const isSuperCall = (node: Node): boolean =>
  part(part(node, "expression"), "callee")?.type === "Super";

function isLeftAlone(node: Node, ancestors: readonly Node[]): boolean {
  return [node, ...ancestors].some((each) => {
    if (each.type.startsWith("TS") && !TYPE_WRAPPERS.has(each.type)) return true;
    if (each.type === "ImportDeclaration") return true;
    const call = each.type === "ExpressionStatement" ? part(each, "expression") : each;
    return call?.type === "CallExpression" && dottedName(part(call, "callee")) === "assert";
  });
}
