// The rule for hot files: nothing in a function that a tick may call allocates, waits or throws.
// Constructors, initialisers and module level run once and are free, and so is a function whose
// comment says "Set-up only". scripts/alloc.ts proves what this rule can only suspect.

import {
  COLD_FILES,
  HOT_PREFIXES,
  hotGlobals,
  hotMethods,
  hotSyntax,
  SET_UP_MARK,
} from "./hot-table.ts";
import type { Rule, SourceFile } from "./repository.ts";
import { isTest, lineOf } from "./repository.ts";
import { perFile } from "./shape-rules.ts";
import type { Node } from "./syntax.ts";
import { isFunction, part, text, walk, walkNode } from "./syntax.ts";

const hotPath = perFile("hot-path", (file, report) => {
  if (!isHot(file.path)) return;
  for (const node of tickFunctions(file)) {
    walkNode(node, [], (inner, ancestors) => {
      const why = inner === node ? "" : fault(inner, ancestors[ancestors.length - 1]);
      if (why !== "")
        report(lineOf(file, inner.start), `${why} (or mark the function "Set-up only")`);
    });
  }
});

export const hotRules: readonly Rule[] = [hotPath];

export function isHot(path: string): boolean {
  if (isTest(path) || COLD_FILES.has(path)) return false;
  return HOT_PREFIXES.some((prefix) => path.startsWith(prefix));
}

/** The outermost functions that a tick may call. */
function tickFunctions(file: SourceFile): Node[] {
  const found: Node[] = [];
  walk(file, (node, ancestors) => {
    if (!isFunction(node) || ancestors.some(isFunction)) return;
    const holder = ancestors.findLast((each) => each.type === "MethodDefinition");
    if (text(holder, "kind") === "constructor" || isMarked(file, node, ancestors)) return;
    if (part(node, "body") !== undefined) found.push(node);
  });
  return found;
}

/** Whether the comment right before the function, or before its class, says "Set-up only". */
function isMarked(file: SourceFile, node: Node, ancestors: readonly Node[]): boolean {
  const starts = [node, ...ancestors]
    .filter((each) => each.type !== "Program")
    .map((each) => each.start);
  for (const comment of file.syntax?.comments ?? []) {
    if (!SET_UP_MARK.test(comment.value)) continue;
    const next = skipComments(file, comment.end);
    if (starts.includes(next)) return true;
  }
  return false;
}

/** The first offset after spaces and further comments. */
function skipComments(file: SourceFile, offset: number): number {
  let at = offset;
  for (;;) {
    while (/\s/.test(file.text.charAt(at))) at += 1;
    const comment = file.syntax?.comments.find((each) => each.start === at);
    if (comment === undefined) return at;
    at = comment.end;
  }
}

function fault(node: Node, parent: Node | undefined): string {
  const syntax = hotSyntax[node.type];
  if (syntax !== undefined) return syntax;
  switch (node.type) {
    case "Identifier": {
      const named = parent?.type === "MemberExpression" && part(parent, "property") === node;
      const global = named ? undefined : hotGlobals[text(node, "name")];
      return global === undefined ? "" : `${text(node, "name")} is not for a tick: ${global}`;
    }
    case "CallExpression": {
      const method = text(part(part(node, "callee"), "property"), "name");
      const instead = Object.hasOwn(hotMethods, method) ? hotMethods[method] : undefined;
      return instead === undefined ? "" : `.${method}() allocates: ${instead}`;
    }
    case "TemplateLiteral":
      return "text allocates: return a reason code";
    case "BinaryExpression":
      return joinsText(node) ? "joining text allocates: return a reason code" : "";
    case "Literal":
      return typeof node["bigint"] === "string" ? "bigint allocates: use number nanoseconds" : "";
    default:
      return node["async"] === true ? "an async function makes a promise: write a plain one" : "";
  }
}

function joinsText(node: Node): boolean {
  if (text(node, "operator") !== "+") return false;
  return [part(node, "left"), part(node, "right")].some(
    (side) => typeof side?.["value"] === "string",
  );
}
