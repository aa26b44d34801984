// holdfast profile check: loads one profile as a run would and shows what was understood, in a
// table of joints with their units. A bad file is refused with every problem and its place. A model
// is built once, since a text that names every joint may still be none.

import type { Command } from "commander";
import type { OnnxMapping } from "../contracts/onnx.ts";
import type { JointProfile, RobotProfile, TaskProfile } from "../contracts/profile.ts";
import { NS_PER_MS } from "../contracts/units.ts";
import { loadProfile } from "../profile/load.ts";
import type { LoadedProfile } from "../profile/load.ts";
import type { CommandContext } from "./command-context.ts";
import { BOARD_T_WD_MS, cutTimeText, EMULATED_T_WD_MS } from "./cut-time.ts";
import { printable } from "./output.ts";
import { ExitCode } from "./usage.ts";

/** How long the physics may load before a person is told what is waited for. */
const PATIENCE_MS = 2_000;

const HELP = `
Examples:
  holdfast profile check so101
  holdfast profile check ./my-arm.yaml

Exit code: 0 usable, 2 not; every problem is printed as file:line:column: field: expected, found.`;

export function addProfileCommand(program: Command, context: CommandContext): void {
  const profile = program
    .command("profile")
    .summary("check a robot, task, deployment or policy file")
    .description("Looks at profiles without starting anything.");
  profile
    .command("check")
    .description("Checks one profile and shows what was understood.")
    .argument("<FILE>", "a path with a slash or .yaml, or a built-in name")
    .addHelpText("after", HELP)
    .action(async (file: string) => {
      const loaded = loadProfile(file);
      await checkWorld(loaded, context);
      context.out.write(`${formatProfile(loaded)}\n`);
      context.exitWith(ExitCode.Done);
    });
}

/** Only the physics knows whether it can build a model. */
async function checkWorld(loaded: LoadedProfile, { err }: CommandContext): Promise<void> {
  const robot = robotOf(loaded);
  if (robot?.sim === undefined) return;
  const check = async (): Promise<void> => {
    const { checkModel } = await import("../workers/model-blame.ts"); // a task needs no physics
    await checkModel(robot);
  };
  await telling(check(), () => err.write("holdfast: loading physics\n"), PATIENCE_MS);
}

/** Waits for the work; tells once when it takes longer than that. */
export async function telling(
  work: Promise<void>,
  tell: () => void,
  patienceMs: number,
): Promise<void> {
  const slow = setTimeout(tell, patienceMs);
  try {
    await work;
  } finally {
    clearTimeout(slow);
  }
}

function robotOf(loaded: LoadedProfile): RobotProfile | undefined {
  if (loaded.kind === "deployment") return loaded.deployment.robot;
  return loaded.kind === "robot" ? loaded.robot : undefined;
}

/** What a profile says, for a person. */
export function formatProfile(loaded: LoadedProfile): string {
  switch (loaded.kind) {
    case "task":
      return taskText(loaded.task);
    case "robot":
      return robotText(loaded.robot);
    case "deployment": {
      const { name, description, path, robot, task, policy } = loaded.deployment;
      const head = `deployment ${name} (${printable(path)}): ${description}`;
      return `${head}\n  task ${task}, policy ${policy ?? "the task's"}\n${robotText(robot)}`;
    }
    case "policy":
      return policyText(loaded.policy);
    default:
      return loaded satisfies never;
  }
}

function policyText({ name, path, description, joints, inputs, output }: OnnxMapping): string {
  const size = (shape: readonly number[]): string => shape.join(" x ");
  const lines = [
    `policy ${name} (${printable(path)}): ${description}`,
    `  joints ${joints.join(", ")}`,
    ...inputs.map((input) => `  input  ${input.name}, ${size(input.shape)}`),
    `  output ${output.name}, ${size(output.shape)}: ${output.horizon} rows of ` +
      `${ms(output.dtNs)}, ${output.space}`,
    "ok",
  ];
  return lines.join("\n");
}

function taskText(task: TaskProfile): string {
  const goal = `${task.goalM.join(", ")} m, within ${task.goalRadiusM} m`;
  const lines = [
    `task ${task.name} (${printable(task.path)}): ${task.description}`,
    `  kind ${task.kind}, policy ${task.defaultPolicy}, goal ${goal}`,
    `  limit ${ms(task.timeLimitNs)}, dwell ${ms(task.dwellNs)}`,
    `  needs ${task.requires.length === 0 ? "nothing but joints" : task.requires.join(", ")}`,
    ...task.objects.map((each) => `  object ${each.name}, ${each.massKg} kg`),
    "ok",
  ];
  return lines.join("\n");
}

function robotText(robot: RobotProfile): string {
  const { sim, policy, sources } = robot;
  const { degraded, latch, stop } = robot.safeActions;
  const safeActions = `${degraded}, ${stop}, ${latch}`;
  const sensors = sources.map((source) => `${source.id} ${source.kind} ${ms(source.periodNs)}`);
  const world =
    sim === undefined
      ? "kinematic"
      : `${printable(sim.modelPath)}, actuators ${sim.actuators.name}, payload ${sim.payloadKg} kg`;
  const lines = [
    `robot ${robot.name} (${printable(robot.path)}): ${robot.description}`,
    `  control ${robot.controlHz} Hz, policy ${policy.hz} Hz, ${policy.horizon} rows of ` +
      `${ms(policy.dtNs)}, power cut: ${robot.powerCut}, safe actions ${safeActions}`,
    `  sources ${sensors.join(", ")}`,
    `  world   ${world}`,
    `  e-stop  ${cutTimeText(robot, { silenceMs: BOARD_T_WD_MS, cutDelayMs: 0 })}; ` +
      `emulated ${EMULATED_T_WD_MS - BOARD_T_WD_MS} ms later`,
    table([columns.map(([title]) => title), ...robot.joints.map(jointCells)]),
    "ok",
  ];
  return lines.join("\n");
}

const columns: readonly (readonly [string, (joint: JointProfile) => string])[] = [
  ["joint", (joint) => joint.name],
  ["command", (joint) => joint.command],
  ["min rad", (joint) => figure(joint.positionRadMin)],
  ["max rad", (joint) => figure(joint.positionRadMax)],
  ["v rad/s", (joint) => figure(joint.velocityRadPerSMax)],
  ["a rad/s2", (joint) => figure(joint.motion.accelerationRadPerS2)],
  ["jerk rad/s3", (joint) => figure(joint.motion.jerkRadPerS3)],
  ["stop a", (joint) => figure(joint.stop.accelerationRadPerS2)],
  ["stop jerk", (joint) => figure(joint.stop.jerkRadPerS3)],
  ["effort Nm", (joint) => figure(joint.effortNmMax)],
  ["lead", (joint) => ms(joint.leadNs)],
  ["droop rad", (joint) => figure(joint.droopRad)],
];

const jointCells = (joint: JointProfile): string[] => columns.map(([, cell]) => cell(joint));

const figure = (value: number): string => String(Number(value.toPrecision(5)));

const ms = (ns: number): string => `${figure(ns / NS_PER_MS)} ms`;

/** Words to the left, figures to the right, under their titles. */
function table(rows: readonly (readonly string[])[]): string {
  const widths = columns.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const lines = rows.map((row) => {
    const cells = row.map((cell, column) =>
      column < 2 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!),
    );
    return `  ${cells.join("  ")}`;
  });
  return lines.join("\n");
}
