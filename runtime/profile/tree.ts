// A YAML file as plain values that remember their places. YAML is taken in its safe part only: one
// document, text keys, no tags, no anchors, no aliases, no directives, no numbers that are not
// finite, no text that could steer a terminal: whatever is printed of a file later is printed as it
// stands. What else YAML can say is refused by name. Duplicate keys are refused with their place.
//
// Nodes are addressed by JSON pointer, as ajv does: `/joints/0/axis`.

import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument } from "yaml";
import type { Node, Scalar } from "yaml";
import { STEERING } from "../contracts/steering-text.ts";
import { fileError, ProfileError, show } from "./problem.ts";
import type { ProfileProblem } from "./problem.ts";

/** A profile is a page or two; a larger file is not one. */
export const PROFILE_SIZE_BYTES_MAX = 256 * 1024;
/** The deepest profile goes six levels down. */
const DEPTH_MAX = 16;
// Counted without regard to quotes and comments. The parser recurses, and takes seconds over a file
// of opening brackets before its stack ends, so such a file never reaches it.
const NESTING_COUNT_MAX = 64;
const LIST_MARKS = new RegExp(`(?:[-?:][ \\t]+){${NESTING_COUNT_MAX}}`);
// Syntax errors beyond these follow from the first.
const SYNTAX_ERROR_COUNT_MAX = 5;

const PARSE_OPTIONS = {
  version: "1.2",
  schema: "core",
  merge: false,
  uniqueKeys: false, // refused below, with the path of the key
  prettyErrors: false,
} as const;

const PLAIN_TEXT = "text on one line, without control characters";
const isSteering = (text: string): boolean => text.search(STEERING) >= 0;

type Entry = {
  readonly value: unknown;
  readonly offset: number;
  /** Offset of the key, or of the value where there is none. */
  readonly keyOffset: number;
};

export class Tree {
  readonly file: string;
  #entries = new Map<string, Entry>();
  #lines: LineCounter;
  #problems: ProfileProblem[] = [];
  #reported = new Set<string>();

  constructor(file: string, text: string) {
    this.file = file;
    this.#lines = new LineCounter();
    if (Buffer.byteLength(text) > PROFILE_SIZE_BYTES_MAX) {
      throw fileError(file, `at most ${PROFILE_SIZE_BYTES_MAX} bytes`, "a larger file");
    }
    if (isDeeplyNested(text)) {
      throw fileError(file, `at most ${NESTING_COUNT_MAX} brackets or list marks in a row`, "more");
    }
    const document = parseDocument(text, { ...PARSE_OPTIONS, lineCounter: this.#lines });
    for (const error of document.errors.slice(0, SYNTAX_ERROR_COUNT_MAX)) {
      const why = error.message.split("\n", 1)[0]!;
      if (error.code === "MULTIPLE_DOCS") {
        this.#add("", error.pos[0], "one YAML document in the file", "the start of a second one");
      } else {
        this.#add("", error.pos[0], "valid YAML", `a syntax error: ${why}`);
      }
    }
    this.#refuseDirectives(text.slice(0, document.contents?.range?.[0]));
    this.throwProblems();
    this.#walk(document.contents, "", undefined, 0);
  }

  /** The whole file as plain values, for a schema to judge. Maps have no prototype. */
  get value(): unknown {
    return this.at("");
  }

  at(pointer: string): unknown {
    return this.#entries.get(pointer)?.value;
  }

  has(pointer: string): boolean {
    return this.#entries.has(pointer);
  }

  /**
   * NaN where there is no number, or one that is noted as wrong, so that a comparison with it finds
   * nothing wrong: what follows from a wrong number is no second problem.
   */
  number(pointer: string): number {
    const value = this.at(pointer);
    return typeof value === "number" && !this.isNoted(pointer) ? value : Number.NaN;
  }

  /** Empty where there is no text. */
  text(pointer: string): string {
    const value = this.at(pointer);
    return typeof value === "string" ? value : "";
  }

  flag(pointer: string): boolean {
    return this.at(pointer) === true;
  }

  /** Entries of a list; zero where there is none. */
  count(pointer: string): number {
    const value = this.at(pointer);
    return Array.isArray(value) ? value.length : 0;
  }

  /** Pointers of a list's entries. */
  each(pointer: string): readonly string[] {
    return Array.from({ length: this.count(pointer) }, (_, index) => `${pointer}/${index}`);
  }

  numbers(pointer: string): readonly number[] {
    return this.each(pointer).map((entry) => this.number(entry));
  }

  texts(pointer: string): readonly string[] {
    return this.each(pointer).map((entry) => this.text(entry));
  }

  get pointers(): Iterable<string> {
    return this.#entries.keys();
  }

  /** Notes a problem with the value at a pointer, or with its key; the first of a field counts. */
  report(
    pointer: string,
    expected: string,
    found?: string,
    where: "value" | "key" = "value",
  ): void {
    if (this.#reported.has(pointer)) return;
    const entry = this.#entries.get(pointer) ?? this.#entries.get(parentOf(pointer));
    const offset = (where === "key" ? entry?.keyOffset : entry?.offset) ?? 0;
    this.#add(pointer, offset, expected, found ?? show(this.at(pointer)));
  }

  /** Whether a problem with that very value was noted: what follows from it is no second one. */
  isNoted(pointer: string): boolean {
    return this.#reported.has(pointer);
  }

  /** Throws what was noted so far, if anything was. */
  throwProblems(): void {
    if (this.#problems.length > 0) throw this.error();
  }

  /** What was noted so far, in the order of the file. */
  error(): ProfileError {
    return new ProfileError(
      this.#problems.toSorted((a, b) => a.line - b.line || a.column - b.column),
    );
  }

  #add(pointer: string, offset: number, expected: string, found: string): void {
    const { line, col: column } = this.#lines.linePos(offset);
    const field = fieldOf(pointer);
    this.#reported.add(pointer);
    this.#problems.push({ file: this.file, line, column, field, expected, found });
  }

  /** Only before the content of a document does a line that begins so direct the parser. */
  #refuseDirectives(head: string): void {
    for (const { index, 0: directive } of head.matchAll(/^%\S*/gm)) {
      this.#add("", index, `no ${directive} directive`, "one");
    }
  }

  /** Records a node and everything under it; returns its plain value. */
  #walk(node: unknown, pointer: string, keyOffset: number | undefined, depth: number): unknown {
    const offset = (node as Node | null)?.range?.[0] ?? keyOffset ?? 0;
    let value: unknown = null;
    if (depth > DEPTH_MAX) {
      this.#add(pointer, offset, `at most ${DEPTH_MAX} levels`, "a deeper nesting");
    } else if (isAlias(node)) {
      this.#add(pointer, offset, "a value written out", "an alias");
    } else if (isMap(node)) {
      value = this.#walkMap(node.items, pointer, depth);
    } else if (isSeq(node)) {
      value = node.items.map((item, i) =>
        this.#walk(item, `${pointer}/${i}`, undefined, depth + 1),
      );
    } else if (isScalar(node)) {
      value = textOrValue(node);
      if (typeof value === "number" && !Number.isFinite(value)) {
        this.#add(pointer, offset, "a finite number", node.source ?? String(value));
      }
      if (typeof value === "string" && isSteering(value)) {
        this.#add(pointer, offset, PLAIN_TEXT, show(node.value));
      }
    }
    const decorated = node as { anchor?: string; tag?: string } | null;
    if (decorated?.anchor !== undefined) this.#add(pointer, offset, "no anchor", "one");
    if (decorated?.tag !== undefined) this.#add(pointer, offset, "no tag", decorated.tag);
    this.#entries.set(pointer, { value, offset, keyOffset: keyOffset ?? offset });
    return value;
  }

  #walkMap(
    items: readonly { key: unknown; value: unknown }[],
    pointer: string,
    depth: number,
  ): Record<string, unknown> {
    const values: Record<string, unknown> = Object.create(null);
    for (const { key, value } of items) {
      const keyOffset = (key as Node | null)?.range?.[0] ?? 0;
      if (!isScalar(key) || typeof key.value !== "string") {
        this.#add(pointer, keyOffset, "keys that are text", "another key");
        continue;
      }
      const child = `${pointer}/${escapePointer(key.value)}`;
      if (isSteering(key.value)) {
        this.#add(child, keyOffset, PLAIN_TEXT, show(key.value));
      } else if (key.anchor !== undefined || key.tag !== undefined) {
        this.#add(child, keyOffset, "a plain key", "an anchor or a tag");
      } else if (this.#entries.has(child)) {
        this.#add(child, keyOffset, "each key once", `a second "${key.value}"`);
      } else {
        values[key.value] = this.#walk(value, child, keyOffset, depth + 1);
      }
    }
    return values;
  }
}

/** A text in a block ends with a line end that nobody meant: `|` with one line is that line. */
function textOrValue({ value, type }: Scalar): unknown {
  const isBlock = type === "BLOCK_LITERAL" || type === "BLOCK_FOLDED";
  return isBlock && typeof value === "string" ? value.replace(/\n$/, "") : value;
}

function isDeeplyNested(text: string): boolean {
  let depth = 0;
  for (const [bracket] of text.matchAll(/[[\]{}]/g)) {
    depth = bracket === "[" || bracket === "{" ? depth + 1 : Math.max(0, depth - 1);
    if (depth > NESTING_COUNT_MAX) return true;
  }
  return LIST_MARKS.test(text);
}

export const escapePointer = (key: string): string =>
  key.replaceAll("~", "~0").replaceAll("/", "~1");

function parentOf(pointer: string): string {
  return pointer.slice(0, Math.max(0, pointer.lastIndexOf("/")));
}

/** `/joints/0/axis` as people write it: `joints[0].axis`. */
function fieldOf(pointer: string): string {
  let field = "";
  for (const part of pointer.split("/").slice(1)) {
    const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (/^\d+$/.test(name)) field += `[${name}]`;
    else field += field === "" ? name : `.${name}`;
  }
  return field;
}
