// The rules that read imports: the import table, and the files that nobody imports. They resolve
// paths as written and never look at the disk, so a test can judge files that do not exist.

import { posix } from "node:path";
import { nobodyImports, rowOf, zoneOf } from "./import-table.ts";
import type { Rule, SourceFile } from "./repository.ts";
import { isTest, isTypeScript, lineOf } from "./repository.ts";
import { perFile } from "./shape-rules.ts";
import type { Node } from "./syntax.ts";
import { part, parts, text, walk } from "./syntax.ts";

/** One import, re-export, dynamic import or import type, as written. */
type ImportUse = {
  readonly specifier: string;
  readonly line: number;
  readonly typeOnly: boolean;
  /** Imported names; empty when the whole module is meant. */
  readonly names: readonly string[];
};

const rows = perFile("import-table", (file, report) => {
  if (!isTypeScript(file.path)) return;
  const row = rowOf(file.path);
  if (row === undefined) {
    report(1, "folder without a row in scripts/tidy/import-table.ts: write the row first");
    return;
  }
  for (const use of importsOf(file)) {
    const message = judge(file.path, use);
    if (message !== "") report(use.line, `import "${use.specifier}": ${message}`);
  }
});

/** Why an import is refused, with what to do instead; empty when it is allowed. */
function judge(path: string, use: ImportUse): string {
  const row = rowOf(path);
  if (row === undefined) return "";
  if (!use.specifier.startsWith(".")) return isTest(path) ? "" : judgePackage(path, use.specifier);
  const target = targetOf(path, use.specifier);
  if (isTest(target) && !isTest(path))
    return "product code never imports a test: move what it needs";
  if (isTest(path) || !isTypeScript(target)) return "";
  const from = zoneOf(path);
  const to = zoneOf(target);
  if (from === to || row.may.includes(to)) return "";
  if (nobodyImports.has(to)) return `nothing imports ${to}/: move what is shared into the product`;
  if (nobodyImports.has(from) || row.may.includes("*")) return "";
  const types = row.mayTypes?.[to];
  if (types === undefined)
    return `${from} may not import ${to}: pass it in from runtime/compose.ts`;
  if (!use.typeOnly) return `${from} may only import types of ${to}: use \`import type\``;
  const strange = types === "any" ? [] : use.names.filter((name) => !types.includes(name));
  if (strange.length === 0) return "";
  return `${from} may only import ${types.toString()} of ${to}: not ${strange.join(", ")}`;
}

function judgePackage(path: string, specifier: string): string {
  const row = rowOf(path);
  if (row === undefined) return "";
  if (specifier === "bun" || specifier.startsWith("node:") || specifier.startsWith("bun:")) {
    if (row.builtins.includes("*") || row.builtins.includes(specifier)) return "";
    return `${row.zone} is pure, it uses no platform module: do this at the rim and pass it in`;
  }
  const scoped = specifier.startsWith("@");
  const name = specifier
    .split("/")
    .slice(0, scoped ? 2 : 1)
    .join("/");
  if (row.packages.includes("*") || row.packages.includes(name)) return "";
  const allowed = row.packages.length === 0 ? "no package" : `only ${row.packages.join(", ")}`;
  return `${row.zone} may use ${allowed}: move this to a folder that may`;
}

/** Entry points: what a person, the composition root or the test runner starts by name. */
function isEntry(path: string): boolean {
  if (path === "runtime/main.ts" || isTest(path) || path.endsWith(".d.ts")) return true;
  return path.startsWith("scripts/") && path.split("/").length === 2;
}

const unimported: Rule = {
  name: "unimported",
  check: ({ files }) => {
    const sources = files.filter((file) => isTypeScript(file.path));
    const imported = new Set<string>();
    for (const file of sources) {
      for (const use of importsOf(file)) imported.add(targetOf(file.path, use.specifier));
      for (const worker of workersOf(file)) imported.add(targetOf(file.path, worker));
    }
    return sources
      .filter((file) => !isEntry(file.path) && !imported.has(file.path))
      .map((file) => {
        const isWorker = file.path.endsWith(".worker.ts");
        const message = isWorker
          ? "no composition starts this worker: start it by URL in runtime/compose.ts, or delete it"
          : "nobody imports this file: use it or delete it";
        return { path: file.path, line: 1, rule: "unimported", message };
      });
  },
};

export const importRules: readonly Rule[] = [rows, unimported];

const targetOf = (path: string, specifier: string): string =>
  posix.join(posix.dirname(path), specifier);

function importsOf(file: SourceFile): ImportUse[] {
  const uses: ImportUse[] = [];
  walk(file, (node) => {
    const use = readImport(node);
    if (use !== undefined) uses.push({ ...use, line: lineOf(file, node.start) });
  });
  return uses;
}

function readImport(node: Node): Omit<ImportUse, "line"> | undefined {
  const specifier = text(part(node, "source"), "value");
  if (specifier === "") return undefined;
  switch (node.type) {
    case "ImportDeclaration": {
      const specifiers = parts(node, "specifiers");
      const inlineTypes = specifiers.every((each) => text(each, "importKind") === "type");
      const typeOnly =
        text(node, "importKind") === "type" || (specifiers.length > 0 && inlineTypes);
      return {
        specifier,
        typeOnly,
        names: specifiers.map((each) => text(part(each, "imported"), "name")),
      };
    }
    case "ExportNamedDeclaration":
    case "ExportAllDeclaration": {
      const names = parts(node, "specifiers").map((each) => text(part(each, "local"), "name"));
      return { specifier, typeOnly: text(node, "exportKind") === "type", names };
    }
    case "ImportExpression":
      return { specifier, typeOnly: false, names: [] };
    case "TSImportType":
      return { specifier, typeOnly: true, names: [] };
    default:
      return undefined;
  }
}

/** The worker files that a file names as `new URL("./x.worker.ts", import.meta.url)`. */
function workersOf(file: SourceFile): string[] {
  const workers: string[] = [];
  walk(file, (node) => {
    if (node.type !== "NewExpression" || text(part(node, "callee"), "name") !== "URL") return;
    const specifier = text(parts(node, "arguments")[0], "value");
    if (specifier.endsWith(".ts")) workers.push(specifier);
  });
  return workers;
}
