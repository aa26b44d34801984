// holdfast gate dry-run: how often and how hard the gate changes or refuses what a policy asks for,
// on simulated lockstep runs or on a recorded flight judged again.
//
// Nothing bypasses the gate here: the runs are ordinary runs with their gate in the path, and what
// it changed is read off their records. There is no switch that could reach hardware.

import { Option } from "commander";
import type { Command } from "commander";
import { Evidence } from "../contracts/evidence.ts";
import { loadDeployment } from "../profile/load.ts";
import { GateTally } from "../record/gate-tally.ts";
import type { CommandContext } from "./command-context.ts";
import type { GateReport, GoodRuns } from "./gate-report.ts";
import { formatGateReport, gateJson } from "./gate-report.ts";
import { CATCH_UP_S, judgeFlight } from "./gate-flight.ts";
import { writeJson } from "./json-out.ts";
import { checkPolicy } from "./policy-choice.ts";
import { runOptions } from "./run-command.ts";
import { printable } from "./output.ts";
import type { RunOptions } from "./run-options.ts";
import type { RunReport } from "./report.ts";
import { countOf, ExitCode, secondsOf, seedOf, textOf, UsageError } from "./usage.ts";

const DEFAULT_PROFILE = "so101";
const DEFAULT_RUN_COUNT = 5;
/** The pick-and-place demo takes nine seconds; twice that shows what follows as well. */
const DEFAULT_RUN_S = 20;
const RUN_COUNT_MAX = 1_000;

const HELP = `
What is judged: ordinary simulated runs, in lockstep, with the gate in the path. Per tick the
command that was asked for is compared with the one that was sent, so the policy sees what the gate
does to it, as it would on the robot. No command ever goes past the gate, and nothing here reaches
hardware. A robot that follows commands ungated is not simulated: it would flatter the policy.

--from judges a flight dump again by the limits of PROFILE: its asked commands, on the joints as
they were measured. Its first ${CATCH_UP_S} s are not counted, while the gate catches up with the
motion. Measured positions do not answer to other limits: read it for what those would change.

False alarms are counted on good runs, those that achieved their task: there, every refusal and
every fault of the gate is one, and so is a tick whose command it changed by over 10 mrad.

Examples:
  holdfast gate dry-run                                  the demo on the SO-101
  holdfast gate dry-run ur5e --runs 20 --json            figures for a script
  holdfast gate dry-run ./my-arm.yaml --policy ./my.ts   your limits and your policy
  holdfast gate dry-run ./tighter.yaml --from flight-77-400.jsonl`;

type Values = {
  readonly policy?: string;
  readonly task?: string;
  readonly seed?: number;
  readonly runs?: number;
  readonly duration?: number;
  readonly from?: string;
  readonly json?: boolean;
};

export function addGateCommand(program: Command, context: CommandContext): void {
  const gate = program
    .command("gate")
    .summary("what the gate does to a policy: dry-run")
    .description("What the safety gate does to a policy.");
  const option = (flags: string, text: string) => new Option(flags, text);
  gate
    .command("dry-run")
    .summary("how often and how hard it changes or refuses commands")
    .description("Reports what the gate changes and refuses, and its false alarms on good runs.")
    .argument("[PROFILE]", `robot or deployment (default: ${DEFAULT_PROFILE})`)
    .addOption(option("--policy <NAME>", "as in run").argParser(textOf("--policy")))
    .addOption(option("--task <NAME>", "as in run").argParser(textOf("--task")))
    .addOption(option("--seed <N>", "seed of the first run (1)").argParser(seedOf("--seed")))
    .addOption(
      option("--runs <N>", `runs, each with a seed of its own (${DEFAULT_RUN_COUNT})`).argParser(
        countOf("--runs", RUN_COUNT_MAX),
      ),
    )
    .addOption(
      option("--duration <S>", `length of each run (${DEFAULT_RUN_S})`).argParser(
        secondsOf("--duration"),
      ),
    )
    .addOption(option("--from <FILE>", "a flight dump instead").argParser(textOf("--from")))
    .option("--json", "print one object of JSON")
    .addHelpText("after", HELP)
    .action(async (profile: string | undefined, values: Values) => {
      context.exitWith(ExitCode.Done);
      const report =
        values.from === undefined
          ? await dryRun(context, profile ?? DEFAULT_PROFILE, values)
          : fromFlight(profile ?? DEFAULT_PROFILE, values.from, values);
      if (values.json === true) await writeJson(context, gateJson(report));
      else context.out.write(`${formatGateReport(report)}\n`);
    });
}

function fromFlight(profile: string, path: string, values: Values): GateReport {
  for (const name of ["policy", "task", "seed", "runs", "duration"] as const) {
    if (values[name] !== undefined) throw new UsageError(`--${name}`, "no --from", "both");
  }
  const { robot } = loadDeployment(profile);
  const tally = judgeFlight(path, robot);
  const title = `${robot.name}, the flight ${path}`;
  return { title, robot, tally, runCount: 1, refusedChunkCount: 0, good: undefined };
}

async function dryRun(
  context: CommandContext,
  profile: string,
  values: Values,
): Promise<GateReport> {
  const runCount = values.runs ?? DEFAULT_RUN_COUNT;
  const firstSeed = values.seed ?? 1;
  const duration = values.duration ?? DEFAULT_RUN_S;
  const { policy, task } = values;
  const asked = {
    ...(policy !== undefined && { policy }),
    ...(task !== undefined && { task }),
    time: "lockstep",
    duration,
  } as const;
  const first = runOptions(profile, { ...asked, seed: firstSeed });
  await checkPolicy(first.plan, values, profile, context);
  const { robot } = first.plan;
  const total = new GateTally(robot);
  const good = new GateTally(robot);
  const failures: string[] = [];
  let goodCount = 0;
  let refusedChunkCount = 0;
  for (let run = 0; run < runCount; run += 1) {
    const options = runOptions(profile, { ...asked, seed: firstSeed + run });
    const { report, tally } = await tallied(context, options);
    total.add(tally);
    refusedChunkCount += refusedIn(report);
    if (report.failure !== undefined) failures.push(`seed ${firstSeed + run}: ${report.failure}`);
    if (!report.task.success || report.failure !== undefined) continue;
    good.add(tally);
    goodCount += 1;
  }
  for (const failure of failures) context.err.write(`${printable(failure)}\n`);
  if (failures.length > 0) context.exitWith(ExitCode.Failed);
  const { plan } = first;
  const title =
    `${first.profile}, task ${plan.task.name}, policy ${plan.policy}, ` +
    `${runCount} runs of ${duration} s from seed ${firstSeed}`;
  const isJudged = plan.task.kind !== "none";
  const goodRuns: GoodRuns | undefined = isJudged
    ? { runCount: goodCount, tally: good }
    : undefined;
  return { title, robot, tally: total, runCount, refusedChunkCount, good: goodRuns };
}

async function tallied(context: CommandContext, options: RunOptions) {
  const tally = new GateTally(options.plan.robot);
  const report = await context.startRun(options, {
    onHandle: () => undefined,
    note: () => undefined,
    changed: () => undefined,
    ticked: (record) => tally.write(record),
    endAsked: new Promise<void>(() => undefined),
  });
  if (report === undefined) throw new Error("a run that nobody ended has a report");
  return { report, tally };
}

const refused = Object.entries(Evidence).filter(([name]) => name.startsWith("Rejected"));

const refusedIn = ({ stats }: RunReport): number =>
  refused.reduce((sum, [, code]) => sum + (stats.chunks.counts[code] ?? 0), 0);
