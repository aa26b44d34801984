// holdfast profile check: what is shown of a good file, and that a bad one is told with its place.
// Lines of the bad file are counted here, not taken from the loader.

import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { builtinFiles } from "../profile/builtin.ts";
import { loadRobot } from "../profile/load.ts";
import { fakeContext, freshFolder } from "./fixture.ts";
import { telling } from "./profile-command.ts";
import { runProgram } from "./program.ts";

async function check(file: string) {
  const context = fakeContext();
  const exitCode = await runProgram(["profile", "check", file], context);
  return { exitCode, out: context.out.text, err: context.err.text };
}

test("a robot is shown with every joint and its limits", async () => {
  const { exitCode, out, err } = await check("document-one");
  expect({ exitCode, err }).toEqual({ exitCode: 0, err: "" });
  const lines = out.split("\n");
  expect(lines.slice(0, 2)).toEqual([
    "robot document-one (profiles/document-one.yaml): " +
      "One joint at 50 Hz, the fixture of the behaviour tests",
    expect.stringMatching(
      /^ {2}control 50 Hz, policy [\d.]+ Hz, .*power cut: safe, safe actions hold, hold, hold$/,
    ),
  ]);
  const cells = (line: string | undefined) => line?.trim().split(/\s{2,}/);
  expect(cells(lines[5])).toEqual([
    ...["joint", "command", "min rad", "max rad", "v rad/s", "a rad/s2", "jerk rad/s3"],
    ...["stop a", "stop jerk", "effort Nm", "lead", "droop rad"],
  ]);
  const limits = ["5", "10000", "10000000", "10000", "10000000", "100", "20 ms", "0"];
  expect(cells(lines[6])).toEqual(["joint", "position", "-100", "100", ...limits]);
  expect(lines.slice(7)).toEqual(["ok", ""]);
});

test.each(["so101", "ur5e", "so101-servo", "none", "reach", "pick_place"])(
  "%s is ok",
  async (name) => {
    const { exitCode, out } = await check(name);
    expect({ exitCode, end: out.slice(-3) }).toEqual({ exitCode: 0, end: "ok\n" });
  },
);

test("a deployment shows its choices and its robot", async () => {
  const { out } = await check("so101-servo");
  expect(out).toStartWith("deployment so101-servo (profiles/deployments/so101-servo.yaml): ");
  expect(out).toContain("\nrobot so101 (");
  for (const { name } of loadRobot("so101").joints) expect(out).toContain(`\n  ${name} `);
});

test("a path is shown without what steers a terminal", async () => {
  const file = join(freshFolder(), "a\u001b[2J\n.yaml");
  writeFileSync(file, builtinFiles.get("profiles/document-one.yaml")!);
  const { exitCode, out } = await check(file);
  expect([exitCode, out.split("\n")[0]]).toEqual([
    0,
    expect.stringMatching(/a.?\[2J.?\.yaml\): One joint at 50 Hz, the fixture of/),
  ]);
  expect(out).not.toContain("\u001b");
});

test("a bad file is told with every place, and exit code 2", async () => {
  const file = join(freshFolder(), "bad.yaml");
  const good = builtinFiles.get("profiles/document-one.yaml")!;
  const bad = good
    .replace("control_hz: 50", "control_hz: .nan")
    .replace("effort_nm_max: 100", "efort_nm_max: 100");
  writeFileSync(file, bad);
  const { exitCode, out, err } = await check(file);
  expect({ exitCode, out }).toEqual({ exitCode: 2, out: "" });
  const [head, ...lines] = err.trimEnd().split("\n");
  expect(head).toBe("holdfast:");
  expect(lines.length).toBeGreaterThanOrEqual(2);
  for (const line of lines)
    expect(line).toMatch(/^\/\S+\/bad\.yaml:\d+:\d+: .*expected .*, found /);
  expect(err).toContain(`bad.yaml:${lineOf(bad, "control_hz")}:`);
  expect(err).toContain(`bad.yaml:${lineOf(bad, "efort_nm_max")}:`);
});

const so101 = builtinFiles.get("profiles/so101.yaml")!;
const arm = builtinFiles.get("profiles/models/so101.xml")!;

/** A copy of the arm with another model beside it. */
function armWith(model: string): string {
  const folder = freshFolder();
  writeFileSync(join(folder, "mine.xml"), model);
  const file = join(folder, "arm.yaml");
  writeFileSync(file, so101.replace("models/so101.xml", "mine.xml"));
  return file;
}

// What the arm's model is changed to, and what must be said of it.
const unbuildable: readonly (readonly [string, string, string, RegExp])[] = [
  [
    "<worldbody>",
    '<asset><mesh name="m" file="m.stl"/></asset><worldbody>',
    "expected a valid MJCF model, found",
    /m\.stl.* in \S+mine\.xml\n$/,
  ],
  ["</worldbody>", "</worldbod>", "expected a valid MJCF model, found", /XML/],
  ["</mujoco>", "", "expected an MJCF model in one file, found", /no <\/mujoco> at the end/],
  ["<worldbody>", '<include file="x.xml"/><worldbody>', "expected an MJCF model in", /<include>/],
  ['name="tool"', 'name="tol"', 'expected the tool frame for body "tool"', /no such body/],
];

test.each(unbuildable)(
  "a model that cannot be built: %s to %s",
  async (from, to, expected, why) => {
    expect(arm).toContain(from);
    const file = armWith(arm.replace(from, () => to));
    const { exitCode, out, err } = await check(file);
    expect({ exitCode, out }).toEqual({ exitCode: 2, out: "" });
    expect(err).toStartWith(
      `holdfast: ${file}:${lineOf(so101, "model: models/")}:10: sim.model: ${expected}`,
    );
    expect(err).toMatch(why);
  },
);

test("what takes long is told, once and only then", async () => {
  let toldCount = 0;
  let finish = (): void => undefined;
  const work = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const tell = (): void => {
    toldCount += 1;
    finish();
  };
  await telling(Promise.resolve(), tell, 0); // its timer is gone before it could fire
  expect(toldCount).toBe(0);
  await telling(work, tell, 0); // ends only when it was told
  expect(toldCount).toBe(1);
});

test("a file cannot steer the terminal of who checks it", async () => {
  const file = join(freshFolder(), "bad.yaml");
  const good = builtinFiles.get("profiles/document-one.yaml")!;
  const steering = 'description: "\\e[2J\\e]0;owned\\a"\n"\\nforged:1:1": 1';
  writeFileSync(
    file,
    good.replace(/^description: .*$/m, () => steering),
  );
  const { exitCode, out, err } = await check(file);
  expect({ exitCode, out }).toEqual({ exitCode: 2, out: "" });
  const lines = err.trimEnd().split("\n");
  expect(lines.length).toBe(3);
  for (const line of lines) expect(line).toMatch(/^[ -~]+$/);
});

const lineOf = (text: string, word: string): number =>
  text.slice(0, text.indexOf(word)).split("\n").length;
