// The shell entries, run in a small copy of the repository with a stand-in for Bun on the PATH that
// prints its arguments: what scripts/run passes on, and what set-up says when it cannot go on.
// Nothing here touches the network or the clone.

import { afterAll, beforeAll, expect, test } from "bun:test";
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pins from "./bun-packages.json" with { type: "json" };
import { buildTargets, chooseTargets } from "./build.ts";
import { ROOT, runCommand } from "./child-process.ts";

const TOOLS = "bash cat cmp cp cut dirname flock grep mkdir readlink rm sed sha256sum uname";
let clone = "";

beforeAll(() => {
  clone = mkdtempSync(join(tmpdir(), "holdfast-setup-"));
  for (const name of ["scripts/run", "scripts/setup.sh", "scripts/bun-packages.json"]) {
    cpSync(join(ROOT, name), join(clone, name));
  }
  writeFileSync(join(clone, "bun.lock"), "locked\n");
  writeFileSync(join(clone, "package.json"), `{ "packageManager": "bun@${pins.version}" }\n`);
  for (const folder of ["tools", "with-bun", "with-old-bun", "empty"])
    mkdirSync(join(clone, folder));
  for (const tool of TOOLS.split(" ")) {
    symlinkSync(Bun.which(tool) ?? tool, join(clone, "tools", tool));
  }
  standIn("with-bun", pins.version);
  standIn("with-old-bun", "1.0.0");
});

afterAll(() => rmSync(clone, { recursive: true, force: true }));

/** A Bun that knows its version, notes how it shall install, and prints what else it is asked. */
function standIn(folder: string, version: string): void {
  const file = join(clone, folder, "bun");
  const install = `mkdir -p node_modules; echo "$*" >node_modules/asked`;
  const script = `case "$1" in --version) echo ${version} ;; install) ${install} ;;`;
  writeFileSync(file, `#!/bin/bash\n${script} *) printf '%s|' "$@" ;; esac\n`);
  chmodSync(file, 0o755);
}

async function start(
  folder: string,
  ...given: string[]
): Promise<{ code: number; output: string }> {
  const { code, output } = await runCommand([join(clone, "scripts/run"), ...given], {
    secondsMax: 10,
    cwd: join(clone, "empty"),
    env: { PATH: `${join(clone, folder)}:${join(clone, "tools")}` },
  });
  return { code, output: output.replaceAll(clone, "CLONE") };
}

const FIXED = "--config=CLONE/bunfig.toml|--no-env-file|--no-install|CLONE/runtime/main.ts|";

test("the first start installs the packages and says so, the next says nothing", async () => {
  rmSync(join(clone, "node_modules"), { recursive: true, force: true });
  const first = await start("with-bun");
  const second = await start("with-bun");
  expect([first, second]).toEqual([
    { code: 0, output: `set-up: installing the packages of bun.lock\n${FIXED}run|` },
    { code: 0, output: `${FIXED}run|` },
  ]);
  // Of the lock file alone, and no package runs a script.
  const asked = readFileSync(join(clone, "node_modules/asked"), "utf8");
  expect(asked).toBe("install --frozen-lockfile --ignore-scripts --no-summary\n");
});

test.each([
  [[], "run|"],
  [["--duration", "10"], "run|--duration|10|"],
  [["--fault", "freeze at 2 s"], "run|--fault|freeze at 2 s|"],
  [["doctor", "--json"], "doctor|--json|"],
  [["run", "ur5e"], "run|ur5e|"],
  [["--help"], "--help|"],
  [["--version"], "--version|"],
  [["--help", "--json"], "run|--help|--json|"],
])("scripts/run %p starts the program with %p", async (given: string[], expected: string) => {
  await start("with-bun");
  expect(await start("with-bun", ...given)).toEqual({ code: 0, output: FIXED + expected });
});

test.each(["empty", "with-old-bun"])(
  "with %s on the PATH and no npm, set-up names the remedy",
  async (folder: string) => {
    const result = await start(folder);
    expect(result).toEqual({
      code: 1,
      output:
        `set-up failed: Cannot fetch Bun ${pins.version}: neither it nor npm is on the PATH. ` +
        `Remedy: sudo apt-get install npm, or install Bun ${pins.version} from https://bun.com\n`,
    });
  },
);

test("the pinned executables are of the version that package.json names", async () => {
  const { packageManager } = await Bun.file(join(ROOT, "package.json")).json();
  expect(packageManager).toBe(`bun@${pins.version}`);
});

test("scripts/build knows its targets by name and refuses others", () => {
  expect(chooseTargets([])).toEqual(buildTargets);
  expect(chooseTargets(["arm64"]).map((target) => target.file)).toEqual(["holdfast-linux-arm64"]);
  expect(() => chooseTargets(["x86"])).toThrow(
    'Cannot build "x86": expected x64, x64-baseline, arm64',
  );
});
