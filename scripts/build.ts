// Compiles the program for one machine or all of them into dist/. The Bun inside comes from the
// npm package of the pinned version and must have the recorded SHA-256, so that the same sources
// give the same bytes anywhere. The name of a binary is part of its bytes: it is built under its
// own name in a scratch folder and moved into place when it is whole.

import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import pins from "./bun-packages.json" with { type: "json" };
import { ROOT, runCommand } from "./child-process.ts";

const FETCH_SECONDS_MAX = 300;
/** Level 19 takes 6 to 19 times as long, for a tenth less. */
const ZSTD_LEVEL = 12;

export type BuildTarget = {
  readonly name: string;
  readonly bunPackage: keyof typeof pins.executableSha256;
  readonly cpu: string;
  readonly file: string;
};

export const buildTargets: readonly BuildTarget[] = [
  { name: "x64", bunPackage: "bun-linux-x64", cpu: "x64", file: "holdfast" },
  {
    name: "x64-baseline",
    bunPackage: "bun-linux-x64-baseline",
    cpu: "x64",
    file: "holdfast-linux-x64-baseline",
  },
  { name: "arm64", bunPackage: "bun-linux-aarch64", cpu: "arm64", file: "holdfast-linux-arm64" },
];

export class BuildError extends Error {
  override readonly name = "BuildError";
}

/** Compiles one target and returns the path of the finished binary. */
export async function buildTarget(target: BuildTarget): Promise<string> {
  const bun = await bunExecutable(target);
  const scratch = join(ROOT, ".cache/build", target.name);
  rmSync(scratch, { recursive: true, force: true });
  mkdirSync(scratch, { recursive: true });
  mkdirSync(join(ROOT, "dist"), { recursive: true });
  const built = join(scratch, target.file);
  const result = await Bun.build({
    entrypoints: await entryPoints(),
    root: join(ROOT, "runtime"),
    format: "esm",
    minify: true,
    bytecode: true,
    sourcemap: "inline",
    splitting: true, // threads share most of their code: scripts/README.md has how much
    // Where this clone lies is no part of the program; grpc-js would put it in.
    define: { __dirname: '"/"' },
    plugins: [packedWasm],
    throw: false,
    compile: {
      // Without a target, `process.arch` of the machine that builds is folded in.
      target: target.bunPackage.replace("aarch64", "arm64") as Bun.Build.CompileTarget,
      executablePath: bun,
      outfile: built,
      // Without these two the binary would run a preload of the folder it is started in.
      autoloadDotenv: false,
      autoloadBunfig: false,
    },
  });
  if (!result.success || !existsSync(built)) {
    const words = result.logs.map(String).join("\n");
    throw new BuildError(`Cannot build ${target.name}: bun build failed\n${words}`);
  }
  const file = join(ROOT, "dist", target.file);
  chmodSync(built, 0o755);
  renameSync(built, file);
  return file;
}

/** The program first, then each thread's file, as the names that compose.ts starts them by. */
async function entryPoints(): Promise<string[]> {
  const workers = [...new Bun.Glob("runtime/workers/*.worker.ts").scanSync({ cwd: ROOT })].sort();
  return ["runtime/main.ts", ...workers].map((path) => join(ROOT, path));
}

/** Wasm goes in packed; `hal/embedded.ts` undoes that where one is loaded. */
const packedWasm: Bun.BunPlugin = {
  name: "packed wasm",
  setup(builder) {
    builder.onLoad({ filter: /\.wasm$/ }, async ({ path }) => ({
      contents: Bun.zstdCompressSync(await Bun.file(path).bytes(), { level: ZSTD_LEVEL }),
      loader: "file",
    }));
  },
};

/** The Bun that goes into the binary: where set-up left it, or fetched into .tools/targets/. */
async function bunExecutable(target: BuildTarget): Promise<string> {
  const inside = join("node_modules/@oven", target.bunPackage, "bin/bun");
  const folder = join(ROOT, ".tools/targets", target.bunPackage);
  const expected = pins.executableSha256[target.bunPackage];
  for (const place of [join(ROOT, ".tools"), ROOT, folder]) {
    const candidate = join(place, inside);
    if (existsSync(candidate) && (await sha256(candidate)) === expected) return candidate;
  }
  await fetchBun(target, folder);
  const found = await sha256(join(folder, inside));
  if (found === expected) return join(folder, inside);
  rmSync(folder, { recursive: true, force: true });
  const what = `@oven/${target.bunPackage}@${pins.version}`;
  throw new BuildError(`Cannot trust ${what}: expected SHA-256 ${expected}, found ${found}`);
}

async function fetchBun(target: BuildTarget, folder: string): Promise<void> {
  const what = `@oven/${target.bunPackage}@${pins.version}`;
  console.log(`fetching ${what} into .tools/targets/ (about 35 MB, once)`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), '{ "private": true }\n');
  const command = [process.execPath, "add", "--exact", "--os", "linux", "--cpu", target.cpu, what];
  const result = await runCommand(command, { secondsMax: FETCH_SECONDS_MAX, cwd: folder });
  if (result.code === 0) return;
  throw new BuildError(`Cannot fetch ${what}: the npm registry must be in reach\n${result.output}`);
}

async function sha256(file: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const bytes of Bun.file(file).stream()) hash.update(bytes);
  return hash.digest("hex");
}

/** The targets that arguments name; all of them when there are none. */
export function chooseTargets(names: readonly string[]): readonly BuildTarget[] {
  if (names.length === 0) return buildTargets;
  return names.map((name) => {
    const target = buildTargets.find((each) => each.name === name);
    if (target !== undefined) return target;
    const expected = buildTargets.map((each) => each.name).join(", ");
    throw new BuildError(`Cannot build "${name}": expected ${expected}`);
  });
}

if (import.meta.main) {
  try {
    for (const target of chooseTargets(process.argv.slice(2))) {
      const file = await buildTarget(target);
      const shortName = file.slice(ROOT.length + 1);
      console.log(`${await sha256(file)}  ${shortName}  ${Bun.file(file).size} bytes`);
    }
  } catch (error) {
    if (!(error instanceof BuildError)) throw error;
    console.error(error.message);
    process.exit(1);
  }
}
