// Every rule of tidy fires on a bad snippet, at its line, and stays silent on a good one. The
// snippets are the oracle: no rule looks at another rule's verdict, and none reads the disk.

import { expect, test } from "bun:test";
import { join } from "node:path";
import { importTable } from "./tidy/import-table.ts";
import { readRepository, repositoryOf, sourceFile } from "./tidy/repository.ts";
import { rules, tidy } from "./tidy.ts";

type Snippets = Readonly<Record<string, string>>;
type Case = {
  readonly rule: string;
  readonly bad: Snippets;
  /** `path:line` of each violation of the bad snippets. */
  readonly at: readonly string[];
  readonly good: Snippets;
};

const HEADER = "// A file.\n// It does one thing.\n";

function places(rule: string, snippets: Snippets): string[] {
  const files = Object.entries(snippets).map(([path, text]) => sourceFile(path, text));
  return tidy(repositoryOf(files))
    .filter((violation) => violation.rule === rule)
    .map((violation) => `${violation.path}:${violation.line}`);
}

const longLine = `const text = "${"x".repeat(90)}";\n`;
const functionOf = (lineCount: number): string =>
  `export function long(): void {\n${"  step();\n".repeat(lineCount - 2)}}\n`;

const shapeCases: Case[] = [
  {
    rule: "columns",
    bad: { "hal/a.ts": `${HEADER}${longLine}`, "scripts/b.sh": `# a\n# ${"x".repeat(99)}\n` },
    at: ["hal/a.ts:3", "scripts/b.sh:2"],
    good: { "hal/a.ts": `// ${"x".repeat(97)}\n`, "README.md": "x".repeat(300) },
  },
  {
    rule: "file-length",
    bad: { "hal/a.ts": "x;\n".repeat(501) },
    at: ["hal/a.ts:501"],
    good: { "hal/a.ts": "x;\n".repeat(500) },
  },
  {
    rule: "function-length",
    bad: {
      "hal/a.ts": functionOf(71),
      "hal/b.ts": `const f = () => {\n${"g();\n".repeat(70)}};\n`,
    },
    at: ["hal/a.ts:1", "hal/b.ts:1"],
    good: { "hal/a.ts": functionOf(70) },
  },
  {
    rule: "header",
    bad: {
      "hal/none.ts": "export const a = 1;\n",
      "hal/short.ts": "// One line.\nexport const a = 1;\n",
      "hal/long.ts": "// Line.\n".repeat(11),
    },
    at: ["hal/long.ts:1", "hal/none.ts:1", "hal/short.ts:1"],
    good: { "hal/a.ts": HEADER, "hal/b.ts": `#!/usr/bin/env bun\n${HEADER}` },
  },
  {
    rule: "file-name",
    bad: { "hal/index.ts": HEADER, "hal/MyFile.ts": HEADER, "hal/utils/a.ts": HEADER },
    at: ["hal/MyFile.ts:1", "hal/index.ts:1", "hal/utils/a.ts:1"],
    good: { "hal/so-101.ts": HEADER, "hal/a.sim.test.ts": HEADER, "hal/a.worker.ts": HEADER },
  },
  {
    rule: "export-import",
    bad: {
      "hal/a.ts": "export default 1;\n",
      "hal/b.ts": 'import { a } from "./a";\n',
      "hal/c.ts": 'import { type A, a } from "./a.ts";\n',
    },
    at: ["hal/a.ts:1", "hal/b.ts:1", "hal/c.ts:1"],
    good: { "hal/a.ts": 'import type { A } from "./a.ts";\nimport { a } from "./a.ts";\n' },
  },
  {
    rule: "comment",
    bad: {
      "hal/a.ts": "// Fine.\n// FIXME: later\n",
      "hal/b.ts": "// ---------- Section\n",
      "hal/c.ts": "/**\n * Since 2031-02-03.\n */\n",
    },
    at: ["hal/a.ts:2", "hal/b.ts:1", "hal/c.ts:2"],
    good: { "hal/a.ts": '// Reads a - b.\nconst text = "FIXME 2031-02-03";\n' },
  },
  {
    rule: "empty-catch",
    bad: { "hal/a.ts": "try {\n  f();\n} catch {\n  // Ignored.\n}\n" },
    at: ["hal/a.ts:3"],
    good: { "hal/a.ts": "try {\n  f();\n} catch (cause) {\n  g(cause);\n}\n" },
  },
  {
    rule: "only-test",
    bad: { "hal/a.test.ts": 'test.only("x", () => {});\n' },
    at: ["hal/a.test.ts:1"],
    good: { "hal/a.test.ts": 'test("x", () => { list.only(1); });\n' },
  },
];

const documentCases: Case[] = [
  {
    rule: "one-title",
    bad: { "hal/README.md": "text\n", "hal/b.md": "# One\n\n# Two\n" },
    at: ["hal/README.md:1", "hal/b.md:3"],
    good: { "hal/README.md": "# One\n```sh\n# a comment\n```\n## Part\n" },
  },
  {
    rule: "folder-readme",
    bad: { "hal/a.ts": HEADER, "hal/fixtures/b.yaml": "", "profiles/c.yaml": "" },
    at: ["hal/README.md:1", "profiles/README.md:1"],
    good: { "hal/a.ts": HEADER, "hal/README.md": "# hal\n" },
  },
];

const importCases: Case[] = [
  {
    rule: "import-table",
    bad: {
      "runtime/contracts/a.ts": 'import { tick } from "../core/tick.ts";\n',
      "runtime/core/b.ts": 'import { Robot } from "../../hal/robot.ts";\n',
      "runtime/core/c.ts": 'import { readFileSync } from "node:fs";\n',
      "safety/d.ts": 'import type { RobotSensor } from "../hal/robot.ts";\n',
      "safety/e.ts": 'import { parse } from "yaml";\n',
      "hal/f.ts": 'import { run } from "../scripts/test.ts";\n',
      "drivers/ur/g.ts": 'import { crc } from "../feetech/protocol.ts";\n',
      "runtime/policy/h.ts": 'export { Gate } from "../../safety/gate.ts";\n',
      "runtime/policy/i.ts": 'const a = import("../../safety/gate.ts");\n',
      "hal/j.ts": 'import { fake } from "./robot.test.ts";\n',
      "elsewhere/k.ts": "export const a = 1;\n",
      "runtime/profile/l.ts": 'import { Command } from "commander";\n',
    },
    at: [
      "drivers/ur/g.ts:1",
      "elsewhere/k.ts:1",
      "hal/f.ts:1",
      "hal/j.ts:1",
      "runtime/contracts/a.ts:1",
      "runtime/core/b.ts:1",
      "runtime/core/c.ts:1",
      "runtime/policy/h.ts:1",
      "runtime/policy/i.ts:1",
      "runtime/profile/l.ts:1",
      "safety/d.ts:1",
      "safety/e.ts:1",
    ],
    good: {
      "runtime/core/a.ts": 'import type { Robot } from "../../hal/robot.ts";\n',
      "runtime/core/a.test.ts": 'import { Robot } from "../../hal/robot.ts";\n',
      "runtime/core/b.ts": 'export type { Robot } from "../../hal/robot.ts";\n',
      "runtime/core/c.ts": 'export type Robot = import("../../hal/robot.ts").Robot;\n',
      "safety/b.ts": 'import type { RobotActuator } from "../hal/robot.ts";\n',
      "drivers/ur/c.ts":
        'import { b } from "./protocol.ts";\nimport { f } from "../../hal/bus.ts";\n',
      "runtime/main.ts":
        'import { Gate } from "../safety/gate.ts";\nimport { x } from "commander";\n',
      "runtime/profile/d.ts": 'import { parse } from "yaml";\n',
      "runtime/link/e.ts": 'import { hold } from "../policy/hold.ts";\n',
      "scripts/f.ts": 'import { tick } from "../runtime/core/tick.ts";\n',
    },
  },
  {
    rule: "unimported",
    bad: {
      "hal/a.ts": HEADER,
      "runtime/workers/b.worker.ts": HEADER,
      "runtime/compose.ts": HEADER,
    },
    at: ["hal/a.ts:1", "runtime/compose.ts:1", "runtime/workers/b.worker.ts:1"],
    good: {
      "runtime/main.ts": 'import { start } from "./compose.ts";\n',
      "runtime/compose.ts": 'new Worker(new URL("./workers/b.worker.ts", import.meta.url));\n',
      "runtime/workers/b.worker.ts": HEADER,
      "hal/lazy.ts": 'export * from "./all.ts";\n',
      "hal/all.ts": 'type Only = import("./only.ts").Only;\n',
      "hal/only.ts": 'const lazy = import("./lazy.ts");\n',
      "hal/conformance.ts": HEADER,
      "hal/conformance.test.ts": 'import { c } from "./conformance.ts";\n',
      "scripts/tidy.ts": HEADER,
    },
  },
];

const nameCases: Case[] = [
  {
    rule: "banned-name",
    bad: {
      "drivers/a/a.ts": 'import { dlopen } from "bun:ffi";\n',
      "hal/b.ts": "Atomics.load(words, 0);\nlet c: SharedArrayBuffer;\n",
      "hal/c.ts": "const a = Date.now() + performance.now();\n",
      "hal/c.test.ts": "const a = Bun.nanoseconds();\n",
      "scripts/d.ts": "const a = Math.random();\n",
      "runtime/policy/e.ts": "setTimeout(f, 1);\n",
      "hal/f.ts": "new Worker(url);\n",
      "safety/g.ts": "const a = Math.sin(1);\n",
      "runtime/core/h.ts": "process.exit(1);\n",
      "runtime/awp/i.ts": "globalThis.setInterval(f, 1);\n",
    },
    at: [
      "drivers/a/a.ts:1",
      "hal/b.ts:1",
      "hal/b.ts:2",
      "hal/c.test.ts:1",
      "hal/c.ts:1",
      "hal/c.ts:1",
      "runtime/awp/i.ts:1",
      "runtime/core/h.ts:1",
      "runtime/policy/e.ts:1",
      "safety/g.ts:1",
      "scripts/d.ts:1",
    ].toSpliced(6, 0, "hal/f.ts:1"),
    good: {
      "hal/ffi/libc.ts": 'import { dlopen } from "bun:ffi";\n',
      "runtime/shm/a.ts": "Atomics.load(words, 0);\n",
      "runtime/workers/system-clock.ts": "const a = Bun.nanoseconds();\n",
      "runtime/workers/b.ts": "setTimeout(f, 1);\n",
      "runtime/compose.ts": "new Worker(url);\n",
      "safety/c.ts":
        '// Date\nconst a = Math.sqrt(2);\nconst text = "Date";\nrow.Date = { Date: 1 };\n',
      "safety/c.test.ts": "const a = Math.sin(1);\n",
      "runtime/core/d.test.ts": "new Worker(url);\nprocess.exit(1);\n",
    },
  },
  {
    rule: "brand-cast",
    bad: {
      "runtime/contracts/units.ts": "export type Rad = number & Unit<'rad'>;\n",
      "hal/a.ts": "const a = 1 as Rad;\n",
      "hal/b.ts": "const b = (1 as unknown) as ApprovedCommand;\n",
    },
    at: ["hal/a.ts:1", "hal/b.ts:1"],
    good: {
      "runtime/contracts/units.ts":
        "export type Rad = number & Unit<'rad'>;\nconst r = 1 as Rad;\n",
      "safety/gate.ts": "const b = row as ApprovedCommand;\n",
      "hal/a.ts": "const a = kinds as Kinds;\n",
    },
  },
];

const typeCases: Case[] = [
  {
    rule: "unit-suffix",
    bad: {
      "hal/a.ts": "export type A = {\n  readonly speed: number;\n};\n",
      "hal/b.ts":
        "export interface B {\n  size: readonly number[];\n  late: number | undefined;\n}\n",
      "hal/c.ts": "export type C = { wake: { p50: number } };\n",
      "hal/d.ts": "export type D = { pass: number };\nexport type E = { speedMin: number };\n",
    },
    at: ["hal/a.ts:2", "hal/b.ts:2", "hal/b.ts:3", "hal/c.ts:1", "hal/d.ts:1", "hal/d.ts:2"],
    good: {
      "hal/a.ts":
        "export type A = { speedRadPerSMax: number; stampNs: number; jointCount: number };\n",
      "hal/b.ts":
        "export type B = { wakeUs: { p50: number; max: number }; rate_asked_hz: number };\n",
      "hal/c.ts": "export type C = { speed: Duration; size: (count: number) => number };\n",
      "hal/d.ts": "type D = { speed: number };\n",
      "hal/d.test.ts": "export type D = { speed: number };\n",
    },
  },
];

const hotBodies: Readonly<Record<string, string>> = {
  "for…of": "for (const a of b) f(a);",
  "for…in": "for (const a in b) f(a);",
  "an object": "return { a };",
  "an array": "return [1, 2];",
  destructuring: "const [a, b] = c;",
  "a closure": "const f = () => 1;",
  "a spread": "f(...a);",
  "a throw": "throw a;",
  "a new": "const a = new Map();",
  "a template": "const a = `x`;",
  "joined text": 'const a = "x" + b;',
  "a bigint": "const a = 1n;",
  subarray: "const a = b.subarray(0, 1);",
  forEach: "a.forEach(b);",
  JSON: "const a = JSON.parse(b);",
  DataView: "let a: DataView;",
};

const hotCases: Case[] = [
  ...Object.values(hotBodies).map((body) => ({
    rule: "hot-path",
    bad: { "runtime/core/a.ts": `${HEADER}export function tick(): void {\n  ${body}\n}\n` },
    at: ["runtime/core/a.ts:4"],
    good: { "runtime/sim/a.ts": `${HEADER}export function tick(): void {\n  ${body}\n}\n` },
  })),
  {
    rule: "hot-path",
    bad: { "safety/gate.ts": "class A {\n  async step(): void {\n    await b;\n  }\n}\n" },
    at: ["safety/gate.ts:3"],
    good: {
      "safety/gate.ts":
        "class A {\n  #rows = [1];\n  constructor() {\n    this.rows = [new B(() => 1)];\n  }\n}\n",
      "safety/faults.ts": "export function f(): number[] {\n  return [1];\n}\n",
      "safety/gate.test.ts": "export function f(): number[] {\n  return [1];\n}\n",
      "runtime/core/a.ts":
        "export const id = (a: number): number => a;\n" +
        "/** Set-up only: cuts the views. */\nexport function f(): number[] {\n  return [1];\n}\n",
      "runtime/shm/a.ts":
        "class A {\n  /** Set-up only. */\n  static make(): A {\n    return new A();\n  }\n}\n",
    },
  },
];

const referenceCases: Case[] = [
  {
    rule: "requirement-test",
    bad: { "runtime/awp/a.ts": "// AWP-TIM-013\nf();\n" },
    at: ["runtime/awp/a.ts:1"],
    good: {
      "runtime/awp/a.ts": "// AWP-TIM-013, by SHA-256\nf();\n",
      "runtime/awp/a.test.ts": 'test("AWP-TIM-013 holds", f);\n',
    },
  },
];

const tokenCases: Case[] = [
  {
    rule: "stage-token",
    bad: {
      "safety/a.ts": "const A_TOKEN = 0x1234_5678;\nthis.#signature.fold(A_TOKEN);\n",
      "safety/b.ts": "const LIST = [305419896];\n",
      "safety/c.ts": "export const C_TOKEN = 7;\n",
      "safety/d.ts": "signature.fold(other.A_TOKEN);\nsignature.fold(9);\n",
      "runtime/core/e.ts": 'import { foldStage } from "../contracts/estop-answer.ts";\n',
      "runtime/core/f.ts": "timer(() => signature.earnedAnswer(0));\n",
    },
    at: [
      "runtime/core/e.ts:1",
      "runtime/core/f.ts:1",
      "safety/b.ts:1",
      "safety/c.ts:1",
      "safety/d.ts:1",
      "safety/d.ts:2",
    ],
    good: {
      "safety/a.ts": "const A_TOKEN = 0x1234_5678;\nthis.#signature.fold(A_TOKEN);\n",
      "runtime/workers/estop-port.ts": "cell[0] = signature.earnedAnswer(0);\n",
      "firmware-tests/bench.ts": "const tokens = [305419896];\n",
    },
  },
];

const ASSERTED = "runtime/core/action-buffer.ts";
const assertionCases: Case[] = [
  {
    rule: "assertions",
    bad: {
      [ASSERTED]: `export class A {
  constructor(a) {
    assert(a, "one is too few");
    this.#a = a;
    this.b = 1;
  }
  put(a) {
    if (a) this.b = a;
    else this.#c();
  }
  take(a) {
    assert(a, "a");
    once(a);
    return once(a);
  }
  #c() {
    assert(this.b, "b");
  }
}
function once(a) {
  if (a) take(a);
}
export function free() {
  step();
  step();
}
export const arrow = () => {
  step();
  step();
};
`,
    },
    at: [2, 7, 11, 23, 27].map((line) => `${ASSERTED}:${line}`),
    good: {
      [ASSERTED]: `export class A {
  constructor(a) {
    assert(a, "a");
    this.#a = a;
    this.#c(a);
  }
  get b() {
    const b = this.#a;
    return b;
  }
  step(a) {
    return once(a);
  }
  #c(a) {
    assert(a, "a again");
  }
}
class Inner {
  step() {
    step();
    step();
  }
}
`,
      "safety/limits.ts": "export function free() {\n  step();\n  step();\n}\n",
    },
  },
];

const cases: readonly Case[] = [
  ...shapeCases,
  ...documentCases,
  ...importCases,
  ...nameCases,
  ...typeCases,
  ...hotCases,
  ...referenceCases,
  ...tokenCases,
  ...assertionCases,
];

test.each(cases.map((each, index) => [each.rule, index] as const))(
  "%s fires on the bad snippet and stays silent on the good one (case %d)",
  (rule, index) => {
    const each = cases[index];
    expect({ bad: places(rule, each?.bad ?? {}), good: places(rule, each?.good ?? {}) }).toEqual({
      bad: [...(each?.at ?? [])],
      good: [],
    });
  },
);

test("every rule has a case", () => {
  const tried = new Set(cases.map((each) => each.rule));
  expect(rules.map((rule) => rule.name).filter((name) => !tried.has(name))).toEqual([]);
});

test("every message says what to do", () => {
  const bad = cases.flatMap((each) => Object.entries(each.bad));
  const messages = bad.flatMap(([path, text]) => tidy(repositoryOf([sourceFile(path, text)])));
  const clear = /^(?!.*undefined).*[a-z].*[:,] .*[a-z]/;
  expect(messages.filter(({ message }) => !clear.test(message))).toEqual([]);
});

test("the pure folders of the import table use no package", () => {
  const pure = ["contracts", "core", "shm", "kinematics", "safety"];
  const packages = importTable.filter((row) => pure.includes(row.zone)).map((row) => row.packages);
  expect(packages.flat()).toEqual([]);
});

test("the repository on disk is read with its scripts, and without what is fetched", () => {
  const { files, paths } = readRepository(join(import.meta.dir, ".."));
  const found = new Set(files.map((file) => file.path));
  const wanted = ["CONTRIBUTING.md", "scripts/run", "scripts/setup.sh", "scripts/tidy/syntax.ts"];
  const fetched = /^(node_modules|\.git|\.tools|\.cache|dist)\//;
  expect(wanted.filter((path) => !found.has(path))).toEqual([]);
  expect(paths.filter((path) => fetched.test(path))).toEqual([]);
});
