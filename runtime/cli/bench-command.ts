// holdfast bench: figures of this machine. `tick` compares our timer with cyclictest in the same
// minute; `gate`, `sim` and `core` measure one part each. A missed goal is a figure, not a failure.
// What is measured loads only when it is.

import { Option } from "commander";
import type { Command } from "commander";
import { duration, NS_PER_S } from "../contracts/units.ts";
import type { Duration } from "../contracts/units.ts";
import type { CommandContext } from "./command-context.ts";
import { writeJson } from "./json-out.ts";
import { countOf, ExitCode, secondsOf, spinTailOf } from "./usage.ts";

const DEFAULT_PAIR_COUNT = 5;
const DEFAULT_RUN_S = 10;
const PAIR_COUNT_MAX = 1_000;
const BENCH_ROBOT = "so101";

const HELP = `
Examples:
  holdfast bench tick --json            our timer against cyclictest (Debian: rt-tests)
  holdfast bench tick --spin-tail 200   with a spin tail
  holdfast bench core                   the whole core with a kinematic robot`;

type TickValues = {
  readonly pairs?: number;
  readonly seconds?: number;
  readonly spinTail?: Duration;
  readonly json?: boolean;
};

const parts = [
  { name: "sim", measure: "benchSim", text: "speed of the physics world" },
  { name: "core", measure: "benchCore", text: "speed of the core with a kinematic robot" },
] as const;

export function addBenchCommand(program: Command, context: CommandContext): void {
  const bench = program
    .command("bench")
    .summary("measure this machine: tick, gate, sim, core, link")
    .description("Measures this machine. Close other programs first: they share its cores.")
    .addHelpText("after", HELP);
  addTick(bench, context);
  addLink(program, bench, context);
  addGate(bench, context);
  for (const { name, measure, text } of parts) {
    bench
      .command(name)
      .description(text)
      .option("--json", "print one line of JSON")
      .action(async ({ json = false }: { readonly json?: boolean }) => {
        const part = await import("./bench-core.ts");
        const figure = await part[measure](BENCH_ROBOT);
        context.exitWith(ExitCode.Done);
        if (json) await writeJson(context, figure);
        else context.out.write(`${part.formatBench(figure)}\n`);
      });
  }
}

function addLink(program: Command, bench: Command, context: CommandContext): void {
  program
    .command("bench-link-host", { hidden: true })
    .description("The other process of bench link.")
    .action(async () => {
      const { runBenchLinkHost } = await import("./bench-link-host.ts");
      await runBenchLinkHost();
      await new Promise(() => undefined); // until its standard input ends
    });
  bench
    .command("link")
    .description("round trip of the policy link, beside a bare grpc-js stream")
    .option("--json", "print one line of JSON")
    .action(async ({ json = false }: { readonly json?: boolean }) => {
      const { benchLink, formatLink } = await import("./bench-link.ts");
      const figures = await benchLink();
      context.exitWith(ExitCode.Done);
      if (json) await writeJson(context, figures);
      else context.out.write(`${formatLink(figures)}\n`);
    });
}

function addGate(bench: Command, context: CommandContext): void {
  bench
    .command("gate")
    .description("cost of judging and sending one command: smooth, hostile, at reduced speed")
    .option("--json", "print one line of JSON")
    .action(async ({ json = false }: { readonly json?: boolean }) => {
      const { benchClock } = await import("./bench-core.ts");
      const { benchGate, formatGate } = await import("./bench-gate.ts");
      const clock = benchClock();
      const figure = benchGate(BENCH_ROBOT, () => clock.nowNs());
      context.exitWith(ExitCode.Done);
      if (json) await writeJson(context, figure);
      else context.out.write(`${formatGate(figure)}\n`);
    });
}

function addTick(bench: Command, context: CommandContext): void {
  const option = (flags: string, text: string) => new Option(flags, text);
  bench
    .command("tick")
    .description("lateness of the 200 Hz tick, beside cyclictest in the same minute")
    .addOption(
      option("--pairs <N>", `pairs of runs (default: ${DEFAULT_PAIR_COUNT})`).argParser(
        countOf("--pairs", PAIR_COUNT_MAX),
      ),
    )
    .addOption(
      option("--seconds <S>", `length of each run (default: ${DEFAULT_RUN_S})`).argParser(
        secondsOf("--seconds"),
      ),
    )
    .addOption(
      option("--spin-tail <US>", "poll this long before ticks (default: 0)").argParser(
        spinTailOf("--spin-tail"),
      ),
    )
    .option("--json", "print one line of JSON")
    .action(async (values: TickValues) => {
      const { benchTick, formatBenchTick } = await import("./bench-tick.ts");
      const { spawnBenchTick } = await import("../compose.ts");
      const report = await benchTick({
        runNs: duration(Math.round((values.seconds ?? DEFAULT_RUN_S) * NS_PER_S)),
        pairCount: values.pairs ?? DEFAULT_PAIR_COUNT,
        spinTailNs: values.spinTail ?? duration(0),
        cyclictestPath: Bun.which("cyclictest") ?? undefined,
        spawnThread: spawnBenchTick,
        tellProgress: (text) => context.err.write(`${text}\n`),
      });
      context.exitWith(ExitCode.Done);
      if (values.json === true) await writeJson(context, report);
      else context.out.write(`${formatBenchTick(report)}\n`);
    });
}
