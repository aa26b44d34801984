// The folder for operator sockets: $XDG_RUNTIME_DIR/holdfast, or /tmp/holdfast-UID where there is
// none. Only its owner may enter. A folder that another user owns, or a link in its place, is
// refused: whoever could swap a socket could catch a stop.

import { chmodSync, lstatSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import type { Stats } from "node:fs";
import { isAbsolute, join } from "node:path";

export class RuntimeFolderError extends Error {
  override readonly name = "RuntimeFolderError";
  readonly code = "runtime_folder";
  readonly path: string;
  readonly expected: string;
  readonly found: string;

  constructor(path: string, expected: string, found: string, cause?: unknown) {
    super(`Cannot use "${path}": expected ${expected}, found ${found}`, { cause });
    this.path = path;
    this.expected = expected;
    this.found = found;
  }
}

export type FolderUser = {
  readonly uid: number;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** What stands before `/tmp` and `/run`: nothing, unless a test must not meet a person's runs. */
  readonly root?: string;
};

const FOLDER_MODE = 0o700;

/** How the socket of a run is called in the folder. */
export const socketName = (pid: number): string => `${pid}.sock`;

/** The other way round: the process id in such a name. */
export const SOCKET_NAME = /^(\d{1,10})\.sock$/;

/** Where this process would put a socket, best first. */
export function folderChoices({ uid, environment, root = "" }: FolderUser): string[] {
  const runtime = environment["XDG_RUNTIME_DIR"] ?? "";
  const fallback = `${root}/tmp/holdfast-${uid}`;
  return isAbsolute(runtime) ? [join(runtime, "holdfast"), fallback] : [fallback];
}

/** Where runs of this user may be found: a stop means also those of another session or service. */
export function folderCandidates(user: FolderUser): string[] {
  const session = `${user.root ?? ""}/run/user/${user.uid}/holdfast`;
  return [...new Set([...folderChoices(user), session])];
}

/** Makes the folder for this user alone, or checks the one that is there. */
export function prepareFolder(path: string, uid: number): void {
  try {
    mkdirSync(path, { mode: FOLDER_MODE });
  } catch (cause) {
    if (codeOf(cause) !== "EEXIST") {
      throw new RuntimeFolderError(path, "a place for a new folder", codeOf(cause), cause);
    }
  }
  const trouble = folderTrouble(path, uid);
  if (trouble !== undefined) throw trouble;
  try {
    chmodSync(path, FOLDER_MODE);
  } catch (cause) {
    throw new RuntimeFolderError(path, "a folder to write in", codeOf(cause), cause);
  }
}

/** Why the folder may not be used; undefined when it may. */
export function folderTrouble(path: string, uid: number): RuntimeFolderError | undefined {
  const status = statusOf(path);
  if (status instanceof RuntimeFolderError) return status;
  if (status.isSymbolicLink()) return new RuntimeFolderError(path, "a folder", "a link");
  if (!status.isDirectory()) return new RuntimeFolderError(path, "a folder", "something else");
  if (status.uid === uid) return undefined;
  return new RuntimeFolderError(path, `a folder of user ${uid}`, `one of user ${status.uid}`);
}

function statusOf(path: string): Stats | RuntimeFolderError {
  try {
    const status = lstatSync(path, { throwIfNoEntry: false });
    return status ?? new RuntimeFolderError(path, "a folder", "nothing");
  } catch (cause) {
    // Too long, a loop, a file on the way, not for us: no folder either way.
    return new RuntimeFolderError(path, "a folder", codeOf(cause), cause);
  }
}

/** The system's name of an error, such as ENOENT. */
export function codeOf(cause: unknown): string {
  return cause instanceof Error && "code" in cause ? String(cause.code) : String(cause);
}

/** What is in a folder; nothing when it cannot be read, or went away. */
export function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // what the file system says may not keep a stop from the other runs
  }
}

/** Removes a socket that nobody listens on. Never throws: the folder may be closed to writing. */
export function removeSocket(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    return; // it stays, and is found dead again
  }
}
