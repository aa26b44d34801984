// The rule that assertions stay on and don't thin out: in the files that decide about motion, each
// exported function runs at least two, its own or those of what it calls in the same file.
//
// An exported function is one that a module exports, or a constructor or public method of a class
// that it exports. Getters are left out, and so is one that, its assertions aside, is one plain
// statement: nothing lies between its two ends that could go wrong.

import type { Rule, SourceFile, Violation } from "./repository.ts";
import { lineOf } from "./repository.ts";
import type { Node } from "./syntax.ts";
import { isFunction, part, parts, text, walkNode } from "./syntax.ts";

/** Gate, supervisor, action buffer and both links. */
export const ASSERTED_FILES: readonly string[] = [
  "safety/gate.ts",
  "safety/supervisor.ts",
  "safety/estop-link.ts",
  "runtime/core/action-buffer.ts",
  "runtime/link/edge-link.ts",
];
export const ASSERTIONS_MIN = 2;

/** What a file's functions assert. */
export type Asserted = {
  readonly path: string;
  /** Assertions written in the file. */
  readonly count: number;
  readonly functions: readonly AssertedFunction[];
};
export type AssertedFunction = {
  readonly name: string;
  readonly line: number;
  /** Assertions in it and in what it calls in its file, each once. */
  readonly reachedCount: number;
};

/** Functions of a file by name; private ones begin with `#`. */
type Functions = ReadonlyMap<string, Node>;

export function assertedIn(file: SourceFile): Asserted {
  const program = file.syntax?.program as unknown as Node | undefined;
  const all = new Map<string, Node>();
  const exported: { readonly name: string; readonly body: Node }[] = [];
  for (const statement of parts(program, "body")) {
    const isExported = statement.type === "ExportNamedDeclaration";
    const declaration = isExported ? part(statement, "declaration") : statement;
    for (const { name, body, isPublic } of functionsOf(declaration)) {
      all.set(name, body);
      if (isExported && isPublic && !isTiny(body)) exported.push({ name, body });
    }
  }
  return {
    path: file.path,
    count: program === undefined ? 0 : assertionsIn(program).length,
    functions: exported.map(({ name, body }) => ({
      name,
      line: lineOf(file, body.start),
      reachedCount: reachedFrom(body, all).size,
    })),
  };
}

type Declared = { readonly name: string; readonly body: Node; readonly isPublic: boolean };

function functionsOf(declaration: Node | undefined): readonly Declared[] {
  switch (declaration?.type) {
    case "FunctionDeclaration":
      return bodied(text(part(declaration, "id"), "name"), declaration, true);
    case "VariableDeclaration":
      return parts(declaration, "declarations").flatMap((each) => {
        const value = part(each, "init");
        if (value === undefined || !isFunction(value)) return [];
        return bodied(text(part(each, "id"), "name"), value, true);
      });
    case "ClassDeclaration":
      return parts(part(declaration, "body"), "body").flatMap((member) => {
        const key = part(member, "key");
        const isPrivate = key?.type === "PrivateIdentifier";
        const name = `${isPrivate ? "#" : ""}${text(key, "name")}`;
        const isPublic = !isPrivate && text(member, "kind") !== "get";
        return bodied(name, part(member, "value"), isPublic);
      });
    default:
      return [];
  }
}

function bodied(name: string, holder: Node | undefined, isPublic: boolean): readonly Declared[] {
  const body = holder !== undefined && isFunction(holder) ? part(holder, "body") : undefined;
  return body === undefined ? [] : [{ name, body, isPublic }];
}

const isAssertion = (node: Node): boolean =>
  node.type === "CallExpression" && text(part(node, "callee"), "name") === "assert";

const PLAIN: ReadonlySet<string> = new Set(["ExpressionStatement", "ReturnStatement"]);

function isTiny(body: Node): boolean {
  const statements = parts(body, "body");
  const others = statements.filter((each) => !isAssertion(part(each, "expression") ?? each));
  return others.length <= 1 && others.every(({ type }) => PLAIN.has(type));
}

function assertionsIn(node: Node): readonly Node[] {
  const found: Node[] = [];
  walkNode(node, [], (inner) => {
    if (isAssertion(inner)) found.push(inner);
  });
  return found;
}

/** The assertions of a body and of every function of its file that it names. */
function reachedFrom(body: Node, all: Functions): ReadonlySet<Node> {
  const reached = new Set<Node>();
  const seen = new Set<Node>();
  const waiting = [body];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (seen.has(next)) continue;
    seen.add(next);
    for (const each of assertionsIn(next)) reached.add(each);
    walkNode(next, [], (inner) => {
      const called = all.get(calledName(inner));
      if (called !== undefined) waiting.push(called);
    });
  }
  return reached;
}

/** `#name` of `this.#name`, `name` of `this.name` or of `name(…)`; empty for anything else. */
function calledName(node: Node): string {
  if (node.type === "CallExpression") {
    const callee = part(node, "callee");
    return callee?.type === "Identifier" ? text(callee, "name") : "";
  }
  if (part(node, "object")?.type !== "ThisExpression") return "";
  const property = part(node, "property");
  return `${property?.type === "PrivateIdentifier" ? "#" : ""}${text(property, "name")}`;
}

const assertions: Rule = {
  name: "assertions",
  check: ({ files }) =>
    files.filter(({ path }) => ASSERTED_FILES.includes(path)).flatMap((file) => tooFew(file)),
};

function tooFew(file: SourceFile): Violation[] {
  return assertedIn(file)
    .functions.filter(({ reachedCount }) => reachedCount < ASSERTIONS_MIN)
    .map(({ name, line, reachedCount }) => ({
      path: file.path,
      line,
      rule: "assertions",
      message: `${name} runs ${reachedCount} of ${ASSERTIONS_MIN}: state what must hold around it`,
    }));
}

export const assertionRules: readonly Rule[] = [assertions];
