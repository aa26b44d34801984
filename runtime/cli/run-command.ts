// holdfast run: reads and checks what was asked for, starts the run, gives a person their ways in,
// and reports how it went. Everything that a person can get wrong is refused here, before anything
// is started. With --json the last and only line of standard output is the report.

import { Option } from "commander";
import type { Command } from "commander";
import { parseFaultSpec } from "../../hal/fault-spec.ts";
import type { RobotProfile } from "../contracts/profile.ts";
import { duration } from "../contracts/units.ts";
import type { Duration } from "../contracts/units.ts";
import { parseLatency } from "../policy/latency.ts";
import { requireHardwareFit } from "../profile/hardware-rules.ts";
import { loadDeployment, loadTask } from "../profile/load.ts";
import { requireFit } from "../profile/task-rules.ts";
import { sourcesOf } from "../workers/plan.ts";
import type { RunPlan } from "../workers/plan.ts";
import { againCommand } from "./again.ts";
import type { CommandContext } from "./command-context.ts";
import { CHARACTER_DEVICE, fileKind, NOTHING } from "./file-kind.ts";
import { lockstepRefusal } from "./lockstep-refusal.ts";
import { openpiPlan } from "./openpi-choice.ts";
import { checkPolicy, policyOf } from "./policy-choice.ts";
import { OperatorDesk } from "./operator-desk.ts";
import { writeJson } from "./json-out.ts";
import { exitCode, formatReport, jsonReport } from "./report.ts";
import type { RunReport } from "./report.ts";
import { runHelp } from "./run-help.ts";
import type { ListedPolicy } from "./run-help.ts";
import { readEstopKey } from "./estop-key.ts";
import type { EstopChoice, RunOptions } from "./run-options.ts";
import {
  choiceOf,
  ExitCode,
  listOf,
  portOf,
  quoted,
  secondsOf,
  seedOf,
  spinTailOf,
  textOf,
  UsageError,
} from "./usage.ts";

const DEFAULT_PROFILE = "so101";
const DEFAULT_SEED = 1;
const DEFAULT_PORT = 8080;
const PLUGGED_LINE = "the serial line of a board that is plugged in (ls -l /dev/serial/by-id)";
const timeModels = ["streaming", "lockstep"] as const;

// The parser names a value after its option, which has no room for a unit.
type Seconds = number;

/** What the parser has read, before profiles are looked at. */
export type RunValues = {
  readonly policy?: string;
  readonly task?: string;
  readonly duration?: Seconds;
  readonly time?: (typeof timeModels)[number];
  readonly policyLatency?: string;
  readonly seed?: number;
  readonly fault?: readonly string[];
  readonly spinTail?: Duration;
  readonly port?: number;
  readonly estop?: string;
  readonly estopKey?: string;
  readonly autoReset?: boolean;
  readonly waitForStart?: boolean;
  readonly json?: boolean;
};

/** `listed` are the policies that ship, for the help; they load only when a run is asked for. */
export function addRunCommand(
  program: Command,
  context: CommandContext,
  listed: readonly ListedPolicy[],
): void {
  program
    .command("run")
    .summary("run a robot until it is told to quit")
    .description("Runs a robot at its control rate, in simulation, until q, Ctrl-C or --duration.")
    .argument("[PROFILE]", `robot or deployment (default: ${DEFAULT_PROFILE})`)
    .addOption(
      valueOption("--policy <NAME>", "sine, a file, grpc://HOST, … (default: the task's)", textOf),
    )
    .addOption(valueOption("--task <NAME>", "task (default: the profile's)", textOf))
    .addOption(valueOption("--duration <S>", "end after this many seconds", secondsOf))
    .addOption(
      valueOption("--time <MODEL>", "streaming, in real time, or lockstep", (option) =>
        choiceOf(option, timeModels),
      ),
    )
    .addOption(valueOption("--policy-latency <DIST>", "150ms, uniform:50ms..250ms, …", textOf))
    .addOption(valueOption("--seed <N>", `seed of all chance (default: ${DEFAULT_SEED})`, seedOf))
    .addOption(
      valueOption("--fault <SPEC>", "KIND:SOURCE[=VALUE][@FROM[+FOR]][%P], repeatable", listOf),
    )
    .addOption(valueOption("--spin-tail <US>", "poll this many µs before each tick", spinTailOf))
    .addOption(valueOption("--port <N>", `first port for the page (${DEFAULT_PORT})`, portOf))
    .addOption(valueOption("--estop <LINE>", "emulated, or its serial line (none)", textOf))
    .addOption(valueOption("--estop-key <FILE>", "key of a keyed board, 16 hex digits", textOf))
    .option("--no-auto-reset", "leave the emulated e-stop's reset to a person")
    .option("--wait-for-start", "a service: moves only after holdfast start")
    .option("--json", "print the report as one line of JSON")
    .addHelpText("after", () => runHelp(listed))
    .action(async (profile: string | undefined, values: RunValues) => {
      const options = runOptions(
        profile ?? DEFAULT_PROFILE,
        values,
        context.keyboard !== undefined,
      );
      checkEstop(options.estop);
      await checkPolicy(options.plan, values, profile ?? DEFAULT_PROFILE, context);
      const report = await attendedRun(context, options, values);
      if (report === undefined) {
        context.err.write("holdfast: ended before the run began\n");
        context.exitWith(ExitCode.Failed);
        return;
      }
      context.exitWith(exitCode(report));
      if (values.json === true) await writeJson(context, jsonReport(report));
      else {
        const again = againCommand(context.program, profile, values, durationOf(report, values));
        context.out.write(`${formatReport(report, again)}\n`);
      }
    });
}

/** How long a repetition is to be: in lockstep as long as this run was, also after a quit. */
function durationOf({ options, stats }: RunReport, values: RunValues): number | undefined {
  if (options.time !== "lockstep" || stats.tickCount === 0) return values.duration;
  return stats.tickCount / options.plan.robot.controlHz;
}

/** An option with one reader, which is told the option's long name. */
function valueOption<Value>(
  flags: string,
  description: string,
  reader: (option: string) => (text: string, previous: Value | undefined) => Value,
): Option {
  const option = new Option(flags, description);
  return option.argParser(reader(option.long ?? flags));
}

/** Checks everything together. Throws the typed error of whatever does not fit. */
export function runOptions(profile: string, values: RunValues, hasKeyboard = false): RunOptions {
  const deployment = loadDeployment(profile);
  const task = loadTask(values.task ?? deployment.task);
  requireFit(deployment.robot, task);
  const policy = policyOf(values, deployment, task);
  const plan: RunPlan = {
    robot: deployment.robot,
    ...openpiPlan(policy, deployment, task),
    policy,
    seed: values.seed ?? DEFAULT_SEED,
    faults: values.fault ?? [],
    policyLatency: values.policyLatency,
    spinTailNs: values.spinTail ?? duration(0),
    isHardware: false,
    estop: undefined, // opened when the run starts
  };
  requireHardwareFit(plan.robot, plan.isHardware);
  if (plan.policyLatency !== undefined) parseLatency(plan.policyLatency);
  for (const text of plan.faults) parseFaultSpec(text, sourcesOf(plan));
  const time = values.time ?? "streaming";
  const estop = estopChoice(values, hasKeyboard);
  const waitsForStart = values.waitForStart === true;
  const refusal = lockstepRefusal({ plan, estop, waitsForStart });
  if (time === "lockstep" && refusal !== undefined) throw refusal;
  if (waitsForStart) requireWaiting(plan.robot);
  const durationS = values.duration;
  return { profile: deployment.name, plan, time, durationS, estop, waitsForStart };
}

/** A robot that begins in RUNNING waits for nobody's start. */
function requireWaiting({ name, supervisor }: RobotProfile): void {
  if (supervisor.startsIn === "Starting") return;
  const expected = "a robot with starts_in: starting";
  throw new UsageError("--wait-for-start", expected, `running in ${name}`);
}

function estopChoice(values: RunValues, hasKeyboard: boolean): EstopChoice {
  const { estop, estopKey, autoReset } = values;
  const isEmulated = estop === "emulated";
  if (autoReset === false && !isEmulated) {
    throw new UsageError("--no-auto-reset", "--estop emulated with it", quoted(estop ?? "none"));
  }
  const isBoard = estop?.startsWith("/") === true;
  if (estopKey !== undefined && !isBoard) {
    const place = "--estop-key";
    throw new UsageError(place, "--estop with a board's serial line", quoted(estop ?? "none"));
  }
  if (estop === undefined || estop === "none") return { kind: "none" };
  if (isEmulated) return { kind: "emulated", autoReset: !hasKeyboard && autoReset !== false };
  if (isBoard) {
    const key = estopKey === undefined ? undefined : readEstopKey(estopKey);
    return { kind: "board", path: estop, key };
  }
  throw new UsageError("--estop", "emulated, none, or the path of its serial line", quoted(estop));
}

/** Refuses a board whose serial line is not there; whether it answers shows once that is open. */
function checkEstop(estop: EstopChoice): void {
  if (estop.kind !== "board") return;
  const kind = fileKind(estop.path);
  if (kind === CHARACTER_DEVICE) return;
  const expected = kind === NOTHING ? PLUGGED_LINE : "a serial line";
  throw new UsageError("--estop", expected, `${kind} at ${quoted(estop.path)}`);
}

async function attendedRun(
  context: CommandContext,
  options: RunOptions,
  values: RunValues,
): Promise<RunReport | undefined> {
  const out = values.json === true ? context.err : context.out;
  const desk = new OperatorDesk(context, out, {
    port: values.port ?? DEFAULT_PORT,
    hasButton: options.estop.kind === "emulated",
  });
  const { task, policy } = options.plan;
  desk.note(`starting ${options.profile}: task ${task.name}, policy ${policy}, ${options.time}`);
  try {
    return await context.startRun(options, {
      onHandle: (handle) => desk.attach(handle),
      note: (text) => desk.note(text),
      changed: (change, firstNs) => desk.tellChange(change, firstNs),
      endAsked: desk.endAsked,
    });
  } finally {
    desk.close();
  }
}
