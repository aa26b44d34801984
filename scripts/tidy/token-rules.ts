// The rule that keeps the e-stop's heartbeat earned: the token of a stage stands in the file of
// that stage and nowhere else, no file can fold a token of another, and only the e-stop's port
// reads what the stages made of the question. Tests and their vectors are free.

import type { Rule, SourceFile, Violation } from "./repository.ts";
import { isTest, lineOf } from "./repository.ts";
import type { Node } from "./syntax.ts";
import { part, parts, text, walk } from "./syntax.ts";

const TOKEN_NAME = /^[A-Z]+_TOKEN$/;
const SIGNATURE_FILE = "runtime/contracts/tick-signature.ts";
const ANSWER_FILE = "runtime/contracts/estop-answer.ts";
/** Where the finished answer may be read: it is made, carried to the line, and warmed up. */
const READERS: ReadonlySet<string> = new Set([
  SIGNATURE_FILE,
  "runtime/workers/estop-port.ts",
  "runtime/workers/warm-up.ts",
]);

const isProduct = ({ path }: SourceFile): boolean =>
  !isTest(path) && !path.startsWith("firmware-tests/") && !path.startsWith("scripts/");

/** The tokens that a file declares, by value. */
function tokensOf(file: SourceFile): Map<number, string> {
  const tokens = new Map<number, string>();
  walk(file, (node) => {
    if (node.type !== "VariableDeclarator") return;
    const name = text(part(node, "id"), "name");
    const value = part(node, "init")?.["value"];
    if (TOKEN_NAME.test(name) && typeof value === "number") tokens.set(value, name);
  });
  return tokens;
}

const stageToken: Rule = {
  name: "stage-token",
  check: ({ files }) => {
    const product = files.filter(isProduct);
    const homes = new Map<number, string>();
    for (const file of product) {
      for (const value of tokensOf(file).keys()) {
        if (!homes.has(value)) homes.set(value, file.path);
      }
    }
    return product.flatMap((file) => faults(file, homes));
  },
};

function faults(file: SourceFile, homes: ReadonlyMap<number, string>): Violation[] {
  const violations: Violation[] = [];
  const own = new Set(tokensOf(file).values());
  walk(file, (node) => {
    const message = fault(node, file.path, own, homes);
    if (message === "") return;
    const line = lineOf(file, node.start);
    violations.push({ path: file.path, line, rule: "stage-token", message });
  });
  return violations;
}

function fault(
  node: Node,
  path: string,
  own: ReadonlySet<string>,
  homes: ReadonlyMap<number, string>,
): string {
  switch (node.type) {
    case "Literal": {
      const home = homes.get(node["value"] as number) ?? path;
      return home === path ? "" : `this is the token of a stage in ${home}: only that file has it`;
    }
    case "ExportNamedDeclaration": {
      const declared = parts(part(node, "declaration"), "declarations");
      const isToken = declared.some((each) => TOKEN_NAME.test(text(part(each, "id"), "name")));
      return isToken ? "a token stays in its file: do not export it" : "";
    }
    case "ImportSpecifier": {
      const name = text(part(node, "imported"), "name");
      const folds = name === "foldStage" || name === "openAnswer";
      if (!folds || path === SIGNATURE_FILE || path === ANSWER_FILE) return "";
      return `${name} is for the signature of a tick: a stage calls fold`;
    }
    case "Identifier":
      if (text(node, "name") !== "earnedAnswer" || READERS.has(path)) return "";
      return "the finished answer is read by the port of the e-stop alone: hand it the signature";
    case "CallExpression":
      return foldFault(node, path, own);
    default:
      return "";
  }
}

/** A stage folds a constant of its own file, by name. */
function foldFault(node: Node, path: string, own: ReadonlySet<string>): string {
  const method = text(part(part(node, "callee"), "property"), "name");
  if (method !== "fold" || path === SIGNATURE_FILE) return "";
  const argument = parts(node, "arguments")[0];
  return own.has(text(argument, "name"))
    ? ""
    : "a stage folds its own token: name a constant of this file";
}

export const tokenRules: readonly Rule[] = [stageToken];
