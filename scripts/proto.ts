// Makes the code of the policy link's messages from `policy.proto`, and writes the digest of the
// text it was made from beside it, which a test compares. Its tools are large and wanted by nobody
// who only builds, so they are fetched under `.tools/proto` when this runs, at pinned versions.

import { createHash } from "node:crypto";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT, runCommand } from "./child-process.ts";

const TOOLS = join(ROOT, ".tools/proto");
const LINK = join(ROOT, "runtime/link");
const SECONDS_MAX = 300;
const PACKAGES = { "@bufbuild/buf": "1.75.0", "@bufbuild/protoc-gen-es": "2.17.0" };

/** Plain JavaScript and its types: the generated TypeScript has enums, which are no types only. */
const TEMPLATE = `version: v2
plugins:
  - local: protoc-gen-es
    out: ${join(LINK, "generated")}
    opt: [target=js+dts, import_extension=js]
`;

/** The digest that stands beside generated code. */
export function protoDigest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

async function must(command: readonly string[], env: Record<string, string> = {}): Promise<void> {
  const result = await runCommand(command, { secondsMax: SECONDS_MAX, cwd: TOOLS, env });
  if (result.code === 0) return;
  console.error(`${command.join(" ")} failed: ${result.output.trim()}`);
  process.exit(1);
}

if (import.meta.main) {
  mkdirSync(TOOLS, { recursive: true });
  writeFileSync(join(TOOLS, "package.json"), JSON.stringify({ dependencies: PACKAGES }));
  writeFileSync(join(TOOLS, "buf.gen.yaml"), TEMPLATE);
  console.log(`fetching ${Object.keys(PACKAGES).join(", ")} to ${TOOLS}`);
  await must([process.execPath, "install", "--exact"]);
  rmSync(join(LINK, "generated"), { recursive: true, force: true });
  const bin = join(TOOLS, "node_modules/.bin");
  const path = `${bin}:${process.env["PATH"] ?? ""}`;
  await must([join(bin, "buf"), "generate", LINK, "--template", "buf.gen.yaml"], { PATH: path });
  const text = await Bun.file(join(LINK, "policy.proto")).text();
  writeFileSync(join(LINK, "generated/policy.proto.sha256"), `${protoDigest(text)}\n`);
  console.log(`made ${join(LINK, "generated")}`);
}
