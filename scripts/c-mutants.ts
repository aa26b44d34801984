// Makes mutants of a C source file: each differs from it in one operator, number, condition,
// result or statement. It reads tokens and no syntax tree, and relies on the formatter: an operator
// between two values stands between two spaces. Comments, preprocessor lines and types stay. A
// mutant that does not compile, or compiles to the same code, is for the runner to drop.

import type { Mutant } from "./mutants.ts";

/** What an operator between two spaces becomes. */
const OPERATORS: Readonly<Record<string, string>> = {
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "==": "!=",
  "!=": "==",
  "&&": "||",
  "||": "&&",
  "+": "-",
  "-": "+",
  "*": "+",
  "%": "+",
  "&": "|",
  "|": "&",
  "^": "|",
  "<<": ">>",
  ">>": "<<",
  "+=": "-=",
  "-=": "+=",
  "|=": "&=",
  "^=": "|=",
};

const OPERATOR = / (<<|>>|<=|>=|==|!=|&&|\|\||\+=|-=|\|=|\^=|[<>+\-*%&|^]) /g;
const NUMBER = /(?<![\w.])(0x[0-9A-Fa-f]+|\d+)(u?)(?![\w.])/g;
const NEGATION = /(?<=[ (])[!~](?=[\w(])/g;
const CONDITION = /\bif \((.*?)\) (?:\{|return)/gs;
const NO_STATEMENT = ["const", "static", "for", "if", "switch", "case", "default", "return"];
const STATEMENT = new RegExp(
  // After the end of another or the start of a block, no declaration, and with an effect.
  `(?<=[{;}]\\s+)(?!(?:${NO_STATEMENT.join("|")})\\b|\\w+_t\\b)` +
    String.raw`([\w*][^;{}]*(?:=|\(|\+\+|--)[^;{}]*;)`,
  "g",
);
const RETURN = /\breturn (?!0u?;|false;)([^;]+);/g;

type Edit = { readonly from: number; readonly until: number; readonly to: string };

/** Every mutant of one file, in its order. */
export function cMutantsOf(path: string, source: string): Mutant[] {
  const code = codeOnly(source);
  const body = code.indexOf("{");
  const edits = [
    ...swaps(code),
    ...constants(code),
    ...matches(code, NEGATION).map((found) => edit(found, "")),
    ...matches(code, CONDITION).map((found) => {
      const from = found.index + "if ".length;
      const until = from + found[1]!.length + "()".length;
      return { from, until, to: `(!${source.slice(from, until)})` };
    }),
    ...matches(code, RETURN).map((found) => edit(found, "return 0;")),
    ...matches(code, STATEMENT).map((found) => edit(found, ";")),
  ];
  return edits
    .filter(({ from }) => from > body)
    .sort((a, b) => a.from - b.from || a.until - b.until)
    .map(({ from, until, to }) => {
      const was = source.slice(from, until).trim().split("\n")[0]!;
      return {
        path,
        line: source.slice(0, from).split("\n").length,
        change: to === ";" ? `without ${was}` : `${was} to ${to.trim()}`,
        text: source.slice(0, from) + to + source.slice(until),
      };
    });
}

/** The same text with comments, strings and preprocessor lines blanked, so that places agree. */
function codeOnly(source: string): string {
  const blank = (text: string): string => text.replace(/[^\n]/g, " ");
  return source
    .replace(/\/\/[^\n]*|\/\*.*?\*\/|"[^"\n]*"/gs, blank)
    .replace(/^#[^\n]*(?:\\\n[^\n]*)*/gm, blank);
}

const matches = (code: string, pattern: RegExp): RegExpExecArray[] => [...code.matchAll(pattern)];

const edit = (found: RegExpExecArray, to: string): Edit => ({
  from: found.index,
  until: found.index + found[0].length,
  to,
});

function swaps(code: string): Edit[] {
  return matches(code, OPERATOR).map((found) => {
    const from = found.index + 1;
    return { from, until: from + found[1]!.length, to: OPERATORS[found[1]!]! };
  });
}

function constants(code: string): Edit[] {
  return matches(code, NUMBER).flatMap((found) => {
    const value = Number(found[1]);
    const others = value === 0 ? [1] : [value - 1, value + 1];
    return others.map((other) => edit(found, `${other % 2 ** 32}${found[2]!}`));
  });
}
