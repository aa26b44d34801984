// What `holdfast run --help` says below its options: every policy, task and robot by name with one
// line each, the fault grammar with what each kind means, examples, keys. Names and lines come from
// the tables that a run itself uses.

import { faultKinds } from "../../hal/fault-spec.ts";
import type { FaultKind } from "../../hal/fault-spec.ts";
import type { SourceProfile } from "../contracts/profile.ts";
import { robotNames, taskNames } from "../profile/builtin.ts";
import { loadDeployment, loadTask } from "../profile/load.ts";

export type ListedPolicy = { readonly name: string; readonly description: string };

const faultMeanings: Readonly<Record<FaultKind, string>> = {
  freeze: "no new samples: the last one stays",
  drop: "samples are lost",
  delay: "samples arrive VALUE later: a time",
  noise: "VALUE is its deviation, in each value's own unit",
  corrupt: "a value becomes NaN, huge or wrong in one bit",
  future: "stamps lie VALUE ahead of now: a time",
};

const faultExamples: Readonly<Record<FaultKind, string>> = {
  freeze: "freeze:joints@2s+500ms",
  drop: "drop:cube_pose%20",
  delay: "delay:joints=40ms@1s",
  noise: "noise:localization=0.01",
  corrupt: "corrupt:joints@1s+2s%5",
  future: "future:joints=20ms@500ms+500ms",
};

const EXAMPLES = `Examples:
  holdfast run                                      the SO-101 arm picks and places, in simulation
  holdfast run ur5e --duration 10                   ten seconds of another arm
  holdfast run ./my-arm.yaml --policy ./wave.ts     your own deployment and policy
  holdfast run --policy sine --spin-tail 100        another policy, sharper timing
  holdfast run --time lockstep --duration 60 --json reproducible, as fast as it goes
  holdfast run --fault freeze:joints@2s+500ms       the joint sensor freezes for half a second
  holdfast run --estop emulated                     with an emulated e-stop beside it
  holdfast run --policy-latency normal:150ms,40ms   decisions come late
  holdfast run so101-openpi-positions --policy openpi://127.0.0.1:8000
                                                    an openpi server of this machine decides

  holdfast run --wait-for-start                     for a service; holdfast start lets it move

Keys, where there is a terminal:
  space stop, r reset, s start, e e-stop, q quit, Ctrl-C quit (twice: at once), ? help

A policy that loops for ever is policy_lost after 1.5 s and may come back; in lockstep it is waited
for, as one that promised an answer, and its thread ended after 10 s (a host's after 70 s). A policy
thread that ends or hangs is exit code 1.

How a run ends: q, Ctrl-C, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU or --duration stop the robot
under control. One that would fall without power is parked: slowly to its rest pose, then it lets
go, within 5 s. A second Ctrl-C or signal lets go at once, and what it holds up falls; a third
leaves at once. In lockstep --duration ends without either. SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM,
SIGPROF and SIGIO change nothing.

Exit code: 0 ended as asked, 1 latched fault, lost thread or ended while it loaded,
2 bad input, 130 left at once.`;

export function runHelp(listed: readonly ListedPolicy[]): string {
  const robots = robotNames.map((name) => loadDeployment(name));
  const tasks = taskNames.map((name) => loadTask(name));
  return [
    "",
    "PROFILE, by name, or as a path with a slash or ending in .yaml:",
    ...robots.map(({ name, description, task }) => row(name, `${description}; task ${task}`, 25)),
    "",
    "--task, by name or path:",
    ...tasks.map(({ name, description, defaultPolicy }) =>
      row(name, `${description}; policy ${defaultPolicy}`),
    ),
    "",
    "--policy, by name, or as a path to a .ts, .js or .onnx file:",
    ...listed.map(({ name, description }) => row(name, description)),
    "",
    "--fault KIND:SOURCE[=VALUE][@FROM[+FOR]][%P]: from FROM on, for FOR, P percent of samples.",
    "Times are such as 80ms or 1.5s. An example of each KIND:",
    ...faultKinds.map((kind) => row(faultExamples[kind], faultMeanings[kind], 34)),
    "SOURCE is one of these, or a kind of source for all of that kind:",
    ...sourceRows(
      robots.map(({ name, robot }) => ({ name, sources: robot.sources })),
      tasks,
    ),
    "",
    "--policy-latency: 150ms, uniform:50ms..250ms, normal:150ms,40ms, exp:150ms",
    "",
    EXAMPLES,
  ].join("\n");
}

type Owner = { readonly name: string; readonly sources: readonly SourceProfile[] };

/** Every source once, with its kind and who has it. */
function sourceRows(robots: readonly Owner[], tasks: readonly Owner[]): string[] {
  const all = [...robots, ...tasks].flatMap(({ sources }) => sources);
  const unique = [...new Map(all.map((source) => [source.id, source])).values()];
  return unique.map(({ id, kind }) => {
    const has = ({ sources }: Owner) => sources.some((source) => source.id === id);
    const names = [...robots, ...tasks].filter(has).map(({ name }) => name);
    return row(id, `${kind}, of ${robots.every(has) ? "every robot" : names.join(", ")}`);
  });
}

const row = (name: string, text: string, columnCount = 20): string =>
  `  ${name.padEnd(columnCount)}${text}`;
