// What a killed run left is removed, and nothing else: real sockets, pipes and processes, each
// entry once as it is left behind and once as somebody still owns it.

import { expect, test } from "bun:test";
import { closeSync, constants, lstatSync, mkdirSync, openSync, readdirSync } from "node:fs";
import { renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeFifo } from "../../hal/ffi/file-descriptor.ts";
import { freshUser } from "./fixture.ts";
import { estopFolderPrefix, sweepLeftBehind } from "./left-behind.ts";
import { folderCandidates, prepareFolder } from "./runtime-folder.ts";

/** A process id that was a process a moment ago. */
async function deadPid(): Promise<number> {
  const child = Bun.spawn(["true"]);
  await child.exited;
  return child.pid;
}

function folderOf(user: ReturnType<typeof freshUser>): string {
  const folder = folderCandidates(user)[0]!;
  prepareFolder(folder, user.uid);
  return folder;
}

/** A socket that nobody listens on any more, as a killed run leaves it. */
async function deadSocket(path: string): Promise<void> {
  const script = `Bun.listen({ unix: process.argv[1], socket: { data() {} } });
    process.kill(process.pid, "SIGKILL");`;
  await Bun.spawn([process.execPath, "-e", script, path]).exited;
}

const listen = (path: string) => Bun.listen({ unix: path, socket: { data: () => undefined } });

/** The folder of an emulated e-stop; its pipe is held as long as the process lives. */
function estopFolder(folder: string, pid: number): string {
  const path = join(folder, `${estopFolderPrefix(pid)}Ab3dEf`);
  mkdirSync(path);
  makeFifo(join(path, "enable"));
  writeFileSync(join(path, "events.jsonl"), "{}\n");
  return path;
}

test("sockets and e-stop folders of dead runs go, by two sweeps at once", async () => {
  const user = freshUser();
  const folder = folderOf(user);
  const pid = await deadPid();
  await deadSocket(join(folder, `${pid}.sock`));
  await deadSocket(join(folder, `.${pid}.new`));
  estopFolder(folder, pid);
  mkdirSync(join(folder, `${estopFolderPrefix(pid)}early1`)); // killed before there was a pipe
  expect(readdirSync(folder)).toHaveLength(4);
  await Promise.all([sweepLeftBehind(user), sweepLeftBehind(user)]);
  expect(readdirSync(folder)).toEqual([]);
});

test("what a live process owns stays", async () => {
  const user = freshUser();
  const folder = folderOf(user);
  const dead = await deadPid();
  // The process that the name tells of lives, though nobody listens yet, or holds the pipe yet.
  await deadSocket(join(folder, `.${process.pid}.new`));
  await deadSocket(join(folder, `${process.pid}.sock`));
  estopFolder(folder, process.pid);
  // That process is gone or never was one of ours, and somebody answers all the same.
  const listener = listen(join(folder, "hidden"));
  renameSync(join(folder, "hidden"), join(folder, `${dead}.sock`));
  const pipe = join(estopFolder(folder, dead), "enable");
  const held = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);
  const before = readdirSync(folder).toSorted();
  await sweepLeftBehind(user);
  expect(readdirSync(folder).toSorted()).toEqual(before);
  listener.stop(true);
  closeSync(held);
  await sweepLeftBehind(user);
  const own = [`.${process.pid}.new`, `${estopFolderPrefix(process.pid)}Ab3dEf`];
  expect(readdirSync(folder).toSorted()).toEqual([...own, `${process.pid}.sock`].toSorted());
});

test("other names, links and files of the same names stay", async () => {
  const user = freshUser();
  const folder = folderOf(user);
  const pid = await deadPid();
  const elsewhere = join(folder, "..", "elsewhere");
  mkdirSync(elsewhere);
  writeFileSync(join(elsewhere, "kept"), "");
  symlinkSync(elsewhere, join(folder, `${estopFolderPrefix(pid)}link01`));
  writeFileSync(join(folder, `${pid}.sock`), "no socket");
  mkdirSync(join(folder, `.${pid}.new`));
  mkdirSync(join(folder, "estop-old"));
  await deadSocket(join(folder, "other.sock"));
  const before = readdirSync(folder).toSorted();
  await sweepLeftBehind(user);
  expect(readdirSync(folder).toSorted()).toEqual(before);
  expect(lstatSync(join(elsewhere, "kept")).isFile()).toBe(true);
});

test("a folder that is not this user's own is not looked into", async () => {
  const user = freshUser();
  const folder = folderOf(user);
  const pid = await deadPid();
  await deadSocket(join(folder, `${pid}.sock`));
  await sweepLeftBehind({ ...user, uid: user.uid + 1 });
  expect(readdirSync(folder)).toEqual([`${pid}.sock`]);
});
