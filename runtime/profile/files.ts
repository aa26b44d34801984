// Reads the files that profiles name: built-in ones from the program, others from the disk. A path
// is what contains a slash or ends in .yaml; anything else is a built-in name. Whatever cannot be
// read is a ProfileError that names the file. Only regular files of a sane size are read.

import { readFileSync, statSync } from "node:fs";
import { builtinFiles } from "./builtin.ts";
import { fileError, oneOf, ProfileError } from "./problem.ts";

/** Models are larger than profiles, but text all the same. */
const FILE_SIZE_BYTES_MAX = 4 * 1024 * 1024;

/** Gives a file's text, or undefined where there is no such file. */
export type ReadText = (path: string) => string | undefined;

/** Reads from the disk. */
export function readDisk(path: string): string | undefined {
  try {
    const status = statSync(path, { throwIfNoEntry: false });
    if (status === undefined) return undefined;
    if (!status.isFile()) throw fileError(path, "a regular file", "something else");
    if (status.size > FILE_SIZE_BYTES_MAX) {
      throw fileError(path, `at most ${FILE_SIZE_BYTES_MAX} bytes`, `${status.size}`);
    }
    return new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(path));
  } catch (cause) {
    if (cause instanceof ProfileError) throw cause;
    const found = cause instanceof TypeError ? "other bytes" : messageOf(cause);
    throw fileError(path, "a readable file in UTF-8", found);
  }
}

export type Source = { readonly path: string; readonly text: string };

/** Finds a profile by built-in name or by path. */
export function findProfile(
  nameOrPath: string,
  names: readonly string[],
  folders: readonly string[],
  readText: ReadText,
): Source {
  if (!isPath(nameOrPath)) {
    for (const folder of folders) {
      const path = `${folder}/${nameOrPath}.yaml`;
      const text = builtinFiles.get(path);
      if (text !== undefined) return { path, text };
    }
    throw fileError(nameOrPath, `${oneOf(names, nameOrPath)}, or a path`, "an unknown name");
  }
  const text = readText(nameOrPath);
  if (text === undefined) throw fileError(nameOrPath, "a file", "nothing there");
  return { path: nameOrPath, text };
}

export const isPath = (nameOrPath: string): boolean =>
  nameOrPath.includes("/") || nameOrPath.endsWith(".yaml");

const messageOf = (cause: unknown): string =>
  cause instanceof Error ? cause.message : String(cause);
