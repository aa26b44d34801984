// What runs that were killed left in the runtime folders of their user: sockets that nobody listens
// on, and folders of emulated e-stops that are gone. A new run removes them. It takes nothing that
// anyone may still own: the process that a name tells of must be gone, and so must whoever listens
// or holds the pipe, who may be another one, or in another container. What is another user's, a
// link, or under any other name stays. Two at once do no harm.

import { closeSync, constants, lstatSync, openSync, rmSync } from "node:fs";
import type { Stats } from "node:fs";
import { join } from "node:path";
import {
  codeOf,
  folderCandidates,
  folderTrouble,
  namesIn,
  removeSocket,
  SOCKET_NAME,
} from "./runtime-folder.ts";
import type { FolderUser } from "./runtime-folder.ts";

type Kind = {
  readonly name: RegExp;
  readonly isIt: (status: Stats) => boolean;
  readonly isHeld: (path: string) => boolean | Promise<boolean>;
  readonly remove: (path: string) => void;
};

const socket = {
  isIt: (status: Stats) => status.isSocket(),
  isHeld: isListened,
  remove: removeSocket,
};
const kinds: readonly Kind[] = [
  { name: SOCKET_NAME, ...socket },
  { name: /^\.(\d{1,10})\.new$/, ...socket },
  {
    name: /^estop-(\d{1,10})-\w+$/,
    isIt: (status) => status.isDirectory(),
    // An emulated e-stop reads its own pipe as long as it lives, longer than its run.
    isHeld: (path) => namesIn(path).some((name) => isReadPipe(join(path, name))),
    remove: removeFolder,
  },
];

/** Where the process `pid` keeps an emulated e-stop, up to what makes the name its own. */
export const estopFolderPrefix = (pid: number): string => `estop-${pid}-`;

/** Removes what nobody owns any more. Never throws. */
export async function sweepLeftBehind(user: FolderUser): Promise<void> {
  for (const folder of folderCandidates(user)) {
    if (folderTrouble(folder, user.uid) !== undefined) continue;
    for (const name of namesIn(folder)) await sweepOne(folder, name, user.uid);
  }
}

async function sweepOne(folder: string, name: string, uid: number): Promise<void> {
  for (const kind of kinds) {
    const pid = kind.name.exec(name)?.[1];
    if (pid === undefined || isAlive(Number(pid))) continue;
    const path = join(folder, name);
    const status = statusOf(path);
    if (status?.uid !== uid || !kind.isIt(status)) continue;
    if (!(await kind.isHeld(path))) kind.remove(path);
  }
}

/** Whether there is such a process. One of another user cannot be signalled, and is there. */
function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (cause) {
    return codeOf(cause) !== "ESRCH";
  }
}

async function isListened(path: string): Promise<boolean> {
  try {
    const connection = await Bun.connect({ unix: path, socket: { data: () => undefined } });
    connection.terminate();
    return true;
  } catch (cause) {
    return codeOf(cause) !== "ECONNREFUSED";
  }
}

/** A pipe that nobody reads cannot be opened to write. */
function isReadPipe(path: string): boolean {
  if (statusOf(path)?.isFIFO() !== true) return false;
  try {
    closeSync(openSync(path, constants.O_WRONLY | constants.O_NONBLOCK));
    return true;
  } catch (cause) {
    return codeOf(cause) !== "ENXIO";
  }
}

function statusOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined; // it cannot be looked at
  }
}

function removeFolder(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    return; // another run removes it too, or it is closed to writing
  }
}
