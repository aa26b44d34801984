// Small questions to /proc, /sys, /dev and the disk. A file that is not there is an answer, since
// kernels and containers differ in what they show; nothing here writes.

import { accessSync, constants, existsSync, readdirSync, readFileSync, statfsSync } from "node:fs";
import { dirname, join } from "node:path";

/** Both cgroup layouts show the file only when the kernel was built with CONFIG_RT_GROUP_SCHED. */
export function hasGroupScheduling(sysRoot: string): boolean {
  const files = ["fs/cgroup/cpu.rt_runtime_us", "fs/cgroup/cpu/cpu.rt_runtime_us"];
  return files.some((file) => existsSync(join(sysRoot, file)));
}

/** The part of /proc/cpuinfo that belongs to each core. */
export function cpuBlocks(procRoot: string): string[] {
  const blocks = (read(procRoot, "cpuinfo") ?? "").split(/\n\s*\n/);
  return blocks.filter((block) => /^processor\s*:/m.test(block));
}

/** Free space where the folder is, or where it would be made. */
export function freeSizeBytes(folder: string): number {
  let existing = folder;
  while (!existsSync(existing)) existing = dirname(existing);
  const { bavail, bsize } = statfsSync(existing);
  return bavail * bsize;
}

/** True when this user may read and write the path. */
export function isUsable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return true;
  } catch {
    return false; // any reason means that it cannot be opened
  }
}

/** Undefined when the kernel does not show the file: older, newer, or a container. */
export function read(root: string, file: string): string | undefined {
  try {
    return readFileSync(join(root, file), "utf8");
  } catch {
    return undefined;
  }
}

/** The first line of a file, or undefined as `read` has it. */
export function firstLine(root: string, file: string): string | undefined {
  return read(root, file)?.split("\n")[0]?.trim();
}

/** Names in a folder, sorted; none when it is not there. */
export function list(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder).toSorted() : [];
}
