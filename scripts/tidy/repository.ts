// The repository as tidy sees it: every text file with its lines, and the syntax tree of
// TypeScript. It reads and parses once, so that all rules together take about a second, and it
// judges nothing.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Comment, Program } from "oxc-parser";
import { parseSync } from "oxc-parser";

/** Folders that hold nothing written by hand. */
export const SKIPPED_FOLDERS = new Set([
  ".cache",
  ".git",
  ".tools",
  "coverage",
  "dist",
  "node_modules",
  "out",
]);
/** Code that another program writes, and that is committed: nobody reads it for style. */
const GENERATED_FOLDER = "generated";
const TEXT_ENDINGS = [".ts", ".c", ".h", ".sh", ".md"];

export type SourceFile = {
  /** Relative to the repository root, with slashes. */
  readonly path: string;
  readonly text: string;
  readonly lines: readonly string[];
  /** Only for TypeScript. */
  readonly syntax?: { readonly program: Program; readonly comments: readonly Comment[] };
};

export type Repository = {
  readonly files: readonly SourceFile[];
  /** Every path, also of files that are not text. */
  readonly paths: readonly string[];
};

export type Violation = {
  readonly path: string;
  readonly line: number;
  readonly rule: string;
  /** What is wrong, and what to write instead. */
  readonly message: string;
};

/** A rule looks at the whole repository, so that one kind serves files, folders and references. */
export type Rule = {
  readonly name: string;
  readonly check: (repository: Repository) => Violation[];
};

export const isTypeScript = (path: string): boolean => path.endsWith(".ts");
export const isTest = (path: string): boolean => path.endsWith(".test.ts");

/** One file of a repository, from text; tests make their snippets with it. */
export function sourceFile(path: string, text: string): SourceFile {
  const lines = text.split("\n");
  if (!isTypeScript(path)) return { path, text, lines };
  const { program, comments } = parseSync(path, text);
  return { path, text, lines, syntax: { program, comments } };
}

export function repositoryOf(files: readonly SourceFile[]): Repository {
  return { files, paths: files.map((file) => file.path) };
}

/** Reads the tree below `root`. Files without an ending count as text when they start with `#!`. */
export function readRepository(root: string): Repository {
  const paths = listPaths(root, "").sort();
  const files: SourceFile[] = [];
  for (const path of paths) {
    if (!TEXT_ENDINGS.some((ending) => path.endsWith(ending)) && !isScript(root, path)) continue;
    files.push(sourceFile(path, readFileSync(join(root, path), "utf8")));
  }
  return { files, paths };
}

/** The line of a text offset, counted from one. */
export function lineOf(file: SourceFile, offset: number): number {
  let line = 1;
  for (let at = file.text.indexOf("\n"); at !== -1 && at < offset; line += 1) {
    at = file.text.indexOf("\n", at + 1);
  }
  return line;
}

function listPaths(root: string, folder: string): string[] {
  const paths: string[] = [];
  for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
    const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory()) {
      const isOurs = !SKIPPED_FOLDERS.has(entry.name) && entry.name !== GENERATED_FOLDER;
      if (isOurs) paths.push(...listPaths(root, path));
    } else if (entry.isFile()) {
      paths.push(path);
    }
  }
  return paths;
}

function isScript(root: string, path: string): boolean {
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (name.includes(".")) return false;
  return readFileSync(join(root, path), "latin1").startsWith("#!");
}
