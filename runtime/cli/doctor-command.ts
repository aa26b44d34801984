// holdfast doctor: prints what this machine grants a robot runtime, with the remedies. It changes
// nothing. The exit code says whether hardware could be armed here.

import type { Command } from "commander";
import type { CommandContext } from "./command-context.ts";
import { doctor, formatDoctor } from "./doctor.ts";
import { writeJson } from "./json-out.ts";
import { ExitCode } from "./usage.ts";

const HELP = `
Each line is ok, warn or fail; remedies below a line are ready to paste.
Simulation runs whatever it says. Exit code: 0 no line failed, 1 some did.`;

export function addDoctorCommand(program: Command, context: CommandContext): void {
  program
    .command("doctor")
    .summary("what this machine grants, with remedies")
    .description("Looks at real-time priority, memory lock, cores, ports, disk and more.")
    .option("--json", "print one line of JSON")
    .addHelpText("after", HELP)
    .action(async ({ json = false }: { readonly json?: boolean }) => {
      const lines = doctor();
      const hasFailed = lines.some((line) => line.verdict === "fail");
      context.exitWith(hasFailed ? ExitCode.Failed : ExitCode.Done);
      if (json) await writeJson(context, lines);
      else context.out.write(`${formatDoctor(lines)}\n`);
    });
}
