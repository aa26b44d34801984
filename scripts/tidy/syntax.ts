// Walking syntax trees: one visitor for every rule, with the ancestors of each node at hand.
// Nodes are read as plain records, because a rule asks for a kind first and for its parts then.

import type { SourceFile } from "./repository.ts";

/** A node of the syntax tree. Its parts depend on `type`; `part` and `parts` read them safely. */
export type Node = {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [part: string]: unknown;
};

/** Called for every node, parents first. `ancestors` ends with the parent and is reused. */
export type Visit = (node: Node, ancestors: readonly Node[]) => void;

const FUNCTIONS = new Set(["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"]);

export const isFunction = (node: Node): boolean => FUNCTIONS.has(node.type);

/** Visits every node of a file; nothing when the file is no TypeScript. */
export function walk(file: SourceFile, visit: Visit): void {
  if (file.syntax === undefined) return;
  walkNode(file.syntax.program as unknown as Node, [], visit);
}

/** Visits `node` and all below it. */
export function walkNode(node: Node, ancestors: Node[], visit: Visit): void {
  visit(node, ancestors);
  ancestors.push(node);
  for (const key of Object.keys(node)) {
    const value = node[key];
    if (isNode(value)) walkNode(value, ancestors, visit);
    else if (Array.isArray(value)) {
      for (const item of value) if (isNode(item)) walkNode(item, ancestors, visit);
    }
  }
  ancestors.pop();
}

/** The node in a part, or undefined when the part is absent. */
export function part(node: Node | undefined, key: string): Node | undefined {
  const value = node?.[key];
  return isNode(value) ? value : undefined;
}

/** The nodes in a list part; none when the part is absent. */
export function parts(node: Node | undefined, key: string): readonly Node[] {
  const value = node?.[key];
  return Array.isArray(value) ? value.filter(isNode) : [];
}

/** A part that is text, such as a name or an operator; empty when it is not. */
export function text(node: Node | undefined, key: string): string {
  const value = node?.[key];
  return typeof value === "string" ? value : "";
}

/** `Bun.nanoseconds` of a member expression, `Date` of an identifier, empty for anything else. */
export function dottedName(node: Node | undefined): string {
  if (node === undefined) return "";
  if (node.type === "Identifier") return text(node, "name");
  if (node.type === "ThisExpression") return "this";
  if (node.type !== "MemberExpression" || node["computed"] === true) return "";
  const left = dottedName(part(node, "object"));
  return left === "" ? "" : `${left}.${text(part(node, "property"), "name")}`;
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && typeof (value as Node).type === "string";
}
