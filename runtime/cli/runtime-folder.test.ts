// The folder for sockets: made for its owner alone, and refused when it is somebody else's. The
// file system itself is asked for modes.

import { afterAll, expect, test } from "bun:test";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  folderCandidates,
  folderChoices,
  folderTrouble,
  prepareFolder,
  RuntimeFolderError,
} from "./runtime-folder.ts";

const root = mkdtempSync(join(tmpdir(), "hf-"));
afterAll(() => rmSync(root, { recursive: true }));
const uid = process.getuid?.() ?? 0;
const modeOf = (path: string): string => (lstatSync(path).mode & 0o777).toString(8);

function errorOf(path: string, owner = uid): unknown {
  try {
    return prepareFolder(path, owner);
  } catch (cause) {
    return cause instanceof RuntimeFolderError
      ? { code: cause.code, expected: cause.expected, found: cause.found, message: cause.message }
      : cause;
  }
}

test("the session's folder comes first, and /tmp where there is none", () => {
  const choices = (value?: string) =>
    folderChoices({ uid: 7, environment: value === undefined ? {} : { XDG_RUNTIME_DIR: value } });
  expect([choices("/run/user/7"), choices(), choices(""), choices("relative")]).toEqual([
    ["/run/user/7/holdfast", "/tmp/holdfast-7"],
    ["/tmp/holdfast-7"],
    ["/tmp/holdfast-7"],
    ["/tmp/holdfast-7"],
  ]);
});

test("a client without the session's environment looks where a session's runs are", () => {
  expect(folderCandidates({ uid: 7, environment: {} })).toEqual([
    "/tmp/holdfast-7",
    "/run/user/7/holdfast",
  ]);
});

test("a new folder is the user's alone, whatever the umask", () => {
  const path = join(root, "new");
  const umask = process.umask(0);
  prepareFolder(path, uid);
  process.umask(umask);
  expect(modeOf(path)).toBe("700");
  prepareFolder(path, uid);
});

test("an own folder that others could enter is closed", () => {
  const path = join(root, "open");
  mkdirSync(path);
  chmodSync(path, 0o777);
  prepareFolder(path, uid);
  expect(modeOf(path)).toBe("700");
});

test("a link, a file and a folder of another user are refused by name", () => {
  const [link, file, foreign] = ["link", "file", "foreign"].map((name) => join(root, name));
  mkdirSync(join(root, "target"), { mode: 0o755 });
  symlinkSync(join(root, "target"), link!);
  writeFileSync(file!, "");
  mkdirSync(foreign!);
  const refusal = (path: string, expected: string, found: string) => {
    const message = `Cannot use "${path}": expected ${expected}, found ${found}`;
    return { code: "runtime_folder", expected, found, message };
  };
  expect([errorOf(link!), errorOf(file!), errorOf(foreign!, uid + 1)]).toEqual([
    refusal(link!, "a folder", "a link"),
    refusal(file!, "a folder", "something else"),
    refusal(foreign!, `a folder of user ${uid + 1}`, `one of user ${uid}`),
  ]);
  expect(modeOf(join(root, "target"))).toBe("755");
});

test("a place where no folder can be made is refused by name", () => {
  const path = join(root, "no", "such", "place");
  const message = `Cannot use "${path}": expected a place for a new folder, found ENOENT`;
  expect(errorOf(path)).toMatchObject({ message });
  expect(folderTrouble(path, uid)?.found).toBe("nothing");
});
