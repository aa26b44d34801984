// What a host refuses before it listens, word for word, and what it loads for whom. The table is
// the oracle: whoever types one of its lines gets that one line, exit code 2, and no port.

import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { jointSchema, schemaFingerprint } from "../contracts/action.ts";
import { duration } from "../contracts/units.ts";
import { facts } from "../link/fixture.ts";
import { ActionSchemaSchema } from "../link/generated/policy_pb.js";
import type { PolicyFacts } from "../link/generated/policy_pb.js";
import { loadRobot } from "../profile/load.ts";
import type { HostPolicyPlan } from "../workers/host-policy.worker.ts";
import { fakeContext } from "./fixture.ts";
import { checkHosted } from "./host-check.ts";
import { runProgram } from "./program.ts";

const folder = mkdtempSync(join(tmpdir(), "hf-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const none = readFileSync(join(import.meta.dir, "../../profiles/tasks/none.yaml"), "utf8");
const joints = loadRobot("so101").joints.map(({ name }) => name);
const files: Readonly<Record<string, string | Uint8Array>> = {
  "syntax.ts": "export function createPolicy( {",
  "no-export.ts": "export const other = 1;",
  "throws.ts": 'export function createPolicy() { throw new Error("no weights"); }',
  "strange.ts": `export function createPolicy(context) {
    const schema = { ...context.jointPositions, columns: ["knee"] };
    return { name: "strange", selectsMode: false, schema, reset() {}, act() { return null; } };
  }`,
  "binary.yaml": new Uint8Array([0xff, 0xfe, 0x00, 0x80]),
  "no-default.yaml": none.replace("default_policy: hold", "default_policy: nobody"),
};
for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
const at = (name: string): string => join(folder, name);
const deployment = join(import.meta.dir, "../../profiles/deployments/so101-servo.yaml");

const NAMES =
  "hold, sine, document-sine, trajectory, reach, pick_place, slow, silent, liar, nan, jumpy";
const HERE = "a policy of this machine: a name, or a path to a .ts, .js or .onnx file";
const thread = (file: string): string =>
  `Cannot start the policy thread: Cannot load policy "${at(file)}": expected `;

const bad: readonly (readonly [string, string])[] = [
  [
    "--policy nope",
    `Cannot use --policy: expected one of ${NAMES}, or a path to a .ts, .js or .onnx file, ` +
      'found "nope"',
  ],
  ["--policy grpc://127.0.0.1:1", `Cannot use --policy: expected ${HERE}, found "grpc://127`],
  ["--policy openpi://127.0.0.1:1", `Cannot use --policy: expected ${HERE}, found "openpi://127`],
  [`--policy ${at("nope.ts")}`, "Cannot use --policy: expected a file, found nothing at "],
  [`--policy ${at("syntax.ts")}`, `${thread("syntax.ts")}a module that loads, found `],
  [
    `--policy ${at("no-export.ts")}`,
    `${thread("no-export.ts")}an export createPolicy(context), found other`,
  ],
  [`--robot ${at("nope.yaml")}`, `${at("nope.yaml")}: expected a file, found nothing there`],
  [`--robot ${at("binary.yaml")}`, `${at("binary.yaml")}: expected a readable file in UTF-8`],
  ["--robot so102", "so102: expected one of so101, ur5e, document-one, wheeled-base, "],
  [`--task ${deployment}`, `${deployment}:3:7: kind: expected "task", found "deployment"`],
  [`--task ${at("binary.yaml")}`, `${at("binary.yaml")}: expected a readable file in UTF-8`],
  [`--task ${at("no-default.yaml")}`, `${at("no-default.yaml")}:9:17: default_policy: expected `],
  [
    "--robot wheeled-base --task pick_place",
    "profiles/tasks/pick_place.yaml: expected a robot with a gripper, found wheeled-base without",
  ],
  [
    "--policy pick_place --task none",
    'Cannot run policy "pick_place": expected a pick_place task with an object, found none',
  ],
  [
    "--policy pick_place --robot wheeled-base",
    'Cannot run policy "pick_place": expected a robot with a gripper, found wheeled-base',
  ],
  [
    `--robot so101 --task none --policy ${at("throws.ts")}`,
    `${thread("throws.ts")}createPolicy not to throw, found no weights`,
  ],
  [
    `--robot so101 --task none --policy ${at("strange.ts")}`,
    "Cannot use --policy: expected one that fits robot so101, found " +
      `policy.action_schema.columns: expected ${joints.join(", ")}, found knee`,
  ],
];

test.each(bad)("holdfast host %s", async (typed, message) => {
  const context = fakeContext();
  const args = ["host", "--listen", "127.0.0.1:0", ...typed.split(" ")];
  expect(await runProgram(args, context)).toBe(2);
  expect(context.err.text).toContain(message);
  expect(context.err.text).toStartWith("holdfast: ");
  expect(context.err.text.trimEnd().split("\n").length).toBe(1);
  expect(context.out.text).toBe("");
});

/** Facts of a policy that fits an SO-101. */
const schema = jointSchema("joint_pos", joints);
const { space, representation, frame, columns } = schema;
const fits = facts({
  actionSchema: create(ActionSchemaSchema, { space, representation, frame, columns: [...columns] }),
  actionSchemaFingerprint: BigInt(schemaFingerprint(schema)),
});

/** What is loaded for a host that was asked to serve this. */
async function loaded(typed: Parameters<typeof checkHosted>[0]) {
  const plans: HostPolicyPlan[] = [];
  const tried: string[] = [];
  const preload = (plan: HostPolicyPlan): Promise<PolicyFacts> => {
    plans.push(plan);
    return Promise.resolve(fits);
  };
  const hosted = await checkHosted(typed, { preload }, async (path) => void tried.push(path));
  return {
    plans: plans.map((plan) => [plan.policy, plan.robot.name, plan.task.name, plan.promiseNs]),
    tried,
    hosted: [hosted.policy, hosted.robot?.name, hosted.task?.name, hosted.promiseNs],
  };
}

test("a policy of the named robot and task is loaded for the first robot", async () => {
  const promise = duration(80e6);
  expect(await loaded({ policy: "sine", robot: "so101", task: "none", promise })).toEqual({
    plans: [["sine", "so101", "none", 80e6]],
    tried: [],
    hosted: ["sine", "so101", "none", 80e6],
  });
  const { plans, hosted } = await loaded({ robot: "so101", task: "none" });
  expect(plans).toEqual([["hold", "so101", "none", 0]]);
  expect(hosted[0]).toBeUndefined();
});

test("a file is loaded without a robot where robot or task is left to the robots", async () => {
  const policy = at("throws.ts"); // its createPolicy is not called
  for (const named of [{}, { robot: "so101" }, { task: "none" }]) {
    const { plans, tried } = await loaded({ policy, ...named });
    expect([plans, tried]).toEqual([[], [policy]]);
  }
});

test("a policy that ships is served if some robot takes it, and loads as robots come", async () => {
  for (const named of [{}, { robot: "ur5e" }, { task: "reach" }]) {
    const { plans, tried } = await loaded({ policy: "reach", ...named });
    expect([plans, tried]).toEqual([[], []]);
  }
  const nothing = { plans: [], tried: [], hosted: [undefined, undefined, undefined, 0] };
  expect(await loaded({})).toEqual(nothing);
});
