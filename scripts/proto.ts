// Makes the code of the policy link's messages from `policy.proto`, for both sides and for the host
// in Python, and writes the digest of the text it was made from beside each, which a test compares.
// Its tools are large and wanted by nobody who only builds, so those of npm are fetched under
// `.tools/proto` when this runs, at pinned versions; the Python's is Debian's protoc.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT, runCommand } from "./child-process.ts";

const TOOLS = join(ROOT, ".tools/proto");
const LINK = join(ROOT, "runtime/link");
/** Folders of generated code, each with the digest of its text. */
export const GENERATED = {
  link: join(LINK, "generated"),
  python: join(ROOT, "scripts/policy-host/holdfast_host/generated"),
} as const;
const SECONDS_MAX = 300;
const PACKAGES = { "@bufbuild/buf": "1.75.0", "@bufbuild/protoc-gen-es": "2.17.0" };

/** Later runtimes of protobuf read this code, and earlier ones than 3.20 do not. */
const PROTOC = "/usr/bin/protoc";
const PROTOC_VERSION = "libprotoc 3.21.12";

/** Plain JavaScript and its types: the generated TypeScript has enums, which are no types only. */
const TEMPLATE = `version: v2
plugins:
  - local: protoc-gen-es
    out: ${GENERATED.link}
    opt: [target=js+dts, import_extension=js]
`;

/** The digest that stands beside generated code. */
export function protoDigest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

async function must(command: readonly string[], env: Record<string, string> = {}): Promise<string> {
  const result = await runCommand(command, { secondsMax: SECONDS_MAX, cwd: TOOLS, env });
  if (result.code === 0) return result.output.trim();
  console.error(`${command.join(" ")} failed: ${result.output.trim()}`);
  process.exit(1);
}

async function fetchTools(): Promise<void> {
  writeFileSync(join(TOOLS, "package.json"), JSON.stringify({ dependencies: PACKAGES }));
  writeFileSync(join(TOOLS, "buf.gen.yaml"), TEMPLATE);
  console.log(`fetching ${Object.keys(PACKAGES).join(", ")} to ${TOOLS}`);
  await must([process.execPath, "install", "--exact"]);
}

async function makeLink(): Promise<void> {
  const bin = join(TOOLS, "node_modules/.bin");
  const path = `${bin}:${process.env["PATH"] ?? ""}`;
  rmSync(GENERATED.link, { recursive: true, force: true });
  await must([join(bin, "buf"), "generate", LINK, "--template", "buf.gen.yaml"], { PATH: path });
}

async function makePython(): Promise<void> {
  const found = existsSync(PROTOC) ? await must([PROTOC, "--version"]) : "none";
  if (found !== PROTOC_VERSION) {
    const remedy = "sudo apt-get install protobuf-compiler";
    console.error(`Cannot use ${PROTOC}: expected ${PROTOC_VERSION}, found ${found}: ${remedy}`);
    process.exit(1);
  }
  rmSync(GENERATED.python, { recursive: true, force: true });
  mkdirSync(GENERATED.python);
  const out = [`--python_out=${GENERATED.python}`, `--pyi_out=${GENERATED.python}`];
  await must([PROTOC, "-I", LINK, ...out, join(LINK, "policy.proto")]);
}

if (import.meta.main) {
  mkdirSync(TOOLS, { recursive: true });
  await fetchTools();
  await makeLink();
  await makePython();
  const text = await Bun.file(join(LINK, "policy.proto")).text();
  for (const folder of Object.values(GENERATED)) {
    writeFileSync(join(folder, "policy.proto.sha256"), `${protoDigest(text)}\n`);
    console.log(`made ${folder}`);
  }
}
