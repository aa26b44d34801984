// A disk that is full, for one process: a file system of a few pages over a folder, in a mount
// namespace that nobody else sees and that ends with the process. Not every machine lets its users
// make one; whoever asks says so then.

import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";

const SIZE_KIB = 16;
const MOUNT = `mount -t tmpfs -o size=${SIZE_KIB}k,mode=0700 tmpfs "$0" && exec "$@"`;
/** Root needs no users of its own, and keeps its real-time rights without them. */
const NAMESPACES = process.getuid?.() === 0 ? "-m" : "-Urm";

/** A command in front of another, whose `folder` then is the tiny disk. Its process id stays. */
export function onTinyDisk(folder: string): readonly string[] {
  return ["unshare", NAMESPACES, "sh", "-c", MOUNT, folder];
}

/** Whether this machine lets us. */
export const hasTinyDisk: boolean = ((): boolean => {
  const [command = "", ...args] = [...onTinyDisk(tmpdir()), "true"];
  return spawnSync(command, args).status === 0;
})();
