// Rules about the shape of a file: how wide, how long, how it starts, what it is called, and a few
// constructs that nothing in this repository needs.

import type { Rule, SourceFile, Violation } from "./repository.ts";
import { isTypeScript, lineOf } from "./repository.ts";
import type { Node } from "./syntax.ts";
import { isFunction, part, parts, text, walk } from "./syntax.ts";

const COLUMNS_MAX = 100;
const FILE_LINES_MAX = 500;
const FUNCTION_LINES_MAX = 70;
const HEADER_LINES_MIN = 2;
const HEADER_LINES_MAX = 10;
const FILE_NAME = /^[a-z0-9]+(-[a-z0-9]+)*(\.(test|sim\.test|hil\.test|worker|d))?\.ts$/;
const VAGUE_FOLDERS = new Set(["utils", "common", "helpers", "lib"]);

/** Words that a comment may not hold, each with what to write instead. */
const COMMENT_BANS: readonly { readonly pattern: RegExp; readonly instead: string }[] = [
  {
    pattern: /\b(FIXME|TODO|XXX|HACK)\b/,
    instead: "do it now, or name it under Limits in the folder's README",
  },
  { pattern: /[-=*#]{8,}/, instead: "no section banners: a file with sections is two files" },
  { pattern: /\b20[0-9]{2}-[01][0-9]-[0-3][0-9]\b/, instead: "no dates: version control has them" },
];

/** A rule that looks at one file at a time. */
export function perFile(
  name: string,
  check: (file: SourceFile, report: (line: number, message: string) => void) => void,
): Rule {
  return {
    name,
    check: ({ files }) => {
      const violations: Violation[] = [];
      for (const file of files) {
        check(file, (line, message) =>
          violations.push({ path: file.path, line, rule: name, message }),
        );
      }
      return violations;
    },
  };
}

const columns = perFile("columns", (file, report) => {
  if (file.path.endsWith(".md")) return;
  for (const [index, line] of file.lines.entries()) {
    if (line.length <= COLUMNS_MAX) continue;
    report(index + 1, `${line.length} columns: break the line at ${COLUMNS_MAX}`);
  }
});

const fileLength = perFile("file-length", (file, report) => {
  const lineCount = file.lines.length - 1;
  if (file.path.endsWith(".md") || lineCount <= FILE_LINES_MAX) return;
  report(FILE_LINES_MAX + 1, `${lineCount} lines: split the file, ${FILE_LINES_MAX} is the limit`);
});

const functionLength = perFile("function-length", (file, report) => {
  walk(file, (node) => {
    if (!isFunction(node)) return;
    const from = lineOf(file, node.start);
    const lineCount = lineOf(file, node.end) - from + 1;
    if (lineCount <= FUNCTION_LINES_MAX) return;
    report(from, `${lineCount} lines: split the function, ${FUNCTION_LINES_MAX} is the limit`);
  });
});

const header = perFile("header", (file, report) => {
  if (!isTypeScript(file.path)) return;
  const first = file.lines[0]?.startsWith("#!") === true ? 1 : 0;
  let lineCount = 0;
  while (file.lines[first + lineCount]?.startsWith("//") === true) lineCount += 1;
  if (lineCount >= HEADER_LINES_MIN && lineCount <= HEADER_LINES_MAX) return;
  report(
    first + 1,
    `${lineCount} header lines: start the file with ${HEADER_LINES_MIN} to ${HEADER_LINES_MAX}` +
      " lines of // that say what it is, what it refuses and what must hold",
  );
});

const names = perFile("file-name", (file, report) => {
  const folders = file.path.split("/");
  const name = folders.pop() ?? "";
  for (const folder of folders) {
    if (VAGUE_FOLDERS.has(folder)) report(1, `folder "${folder}": name it after what it holds`);
  }
  if (!isTypeScript(name)) return;
  if (name === "index.ts") report(1, "no index.ts: name the file after its main export");
  if (!FILE_NAME.test(name)) report(1, `"${name}": file names are kebab-case`);
});

const exportsAndImports = perFile("export-import", (file, report) => {
  walk(file, (node) => {
    if (node.type === "ExportDefaultDeclaration" && !file.path.endsWith(".d.ts")) {
      report(lineOf(file, node.start), "default export: export it by name");
    }
    if (node.type !== "ImportDeclaration") return;
    const specifier = text(part(node, "source"), "value");
    if (/^\.{1,2}\//.test(specifier) && !/\.[a-z]+$/.test(specifier)) {
      report(lineOf(file, node.start), `import "${specifier}": name the file, with its ending`);
    }
    if (parts(node, "specifiers").some((each) => text(each, "importKind") === "type")) {
      report(lineOf(file, node.start), "inline type import: use a separate `import type`");
    }
  });
});

const comments = perFile("comment", (file, report) => {
  for (const comment of file.syntax?.comments ?? []) {
    const line = lineOf(file, comment.start);
    for (const { pattern, instead } of COMMENT_BANS) {
      const found = pattern.exec(comment.value);
      if (found === null) continue;
      const lineBreaks = comment.value.slice(0, found.index).split("\n").length - 1;
      report(line + lineBreaks, `"${found[0]}" in a comment: ${instead}`);
    }
  }
});

const emptyCatch = perFile("empty-catch", (file, report) => {
  walk(file, (node) => {
    if (node.type !== "CatchClause" || parts(part(node, "body"), "body").length > 0) return;
    report(lineOf(file, node.start), "empty catch: handle one named kind, or rethrow with a cause");
  });
});

const onlyTests = perFile("only-test", (file, report) => {
  walk(file, (node) => {
    if (isOnly(node))
      report(lineOf(file, node.start), "a test marked only hides the others: unmark it");
  });
});

export const shapeRules: readonly Rule[] = [
  columns,
  fileLength,
  functionLength,
  header,
  names,
  exportsAndImports,
  comments,
  emptyCatch,
  onlyTests,
];

function isOnly(node: Node): boolean {
  if (node.type !== "MemberExpression" || text(part(node, "property"), "name") !== "only")
    return false;
  return ["test", "describe", "it"].includes(text(part(node, "object"), "name"));
}
