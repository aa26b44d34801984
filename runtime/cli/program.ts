// The program as a whole: its subcommands, its help, and what becomes of every error. Bad input is
// one clear message and exit code 2; what nobody expected is printed with its stack as a bug.
//
// Knows no process: `main.ts` hands in streams, keyboard and signals, tests hand in their own.

import { existsSync } from "node:fs";
import { Command, CommanderError } from "commander";
import { robotNames } from "../profile/builtin.ts";
import { isPath } from "../profile/files.ts";
import { ProfileError } from "../profile/problem.ts";
import { addBenchCommand } from "./bench-command.ts";
import type { CommandContext } from "./command-context.ts";
import { addDoctorCommand } from "./doctor-command.ts";
import { addEmulatorCommand } from "./estop-emulator-command.ts";
import { addGateCommand } from "./gate-command.ts";
import { addHostCommand } from "./host-command.ts";
import { addOperatorCommands } from "./operator-commands.ts";
import { printable, printableLines } from "./output.ts";
import { addPairCommand } from "./pair-command.ts";
import { addProfileCommand } from "./profile-command.ts";
import { addProxyCommand } from "./proxy-command.ts";
import { addRunCommand } from "./run-command.ts";
import type { ListedPolicy } from "./run-help.ts";
import { addSnapshotCommand } from "./snapshot-command.ts";
import { ExitCode } from "./usage.ts";
import { addVersionCommand, PROGRAM_VERSION } from "./version-command.ts";

const HELP = `
Start here:
  holdfast run             the SO-101 arm picks and places, in simulation, with a page to watch
  holdfast doctor          what this machine grants a robot runtime
  holdfast run --help      policies, tasks, faults, keys

While a run is live: space stop, r reset, s start, q quit in its terminal; holdfast stop, reset,
start or status from another; or the page whose address it prints.

Files are written only under the clone, $XDG_RUNTIME_DIR/holdfast (else /tmp/holdfast-UID) and
$XDG_STATE_HOME/holdfast; snapshot writes where you say.

Exit code: 0 done, 1 failed or latched fault, 2 bad input, 70 a bug, 130 left at once.`;

/** Runs one command line, without the program's name in front, and returns the exit code. */
export async function runProgram(
  typed: readonly string[],
  context: Omit<CommandContext, "exitWith">,
): Promise<number> {
  const args = typed[0] === "help" ? [...typed.slice(1), "--help"] : typed;
  let exitCode: number = ExitCode.Done;
  // Only a run needs the policies: `holdfast stop` must not wait for them.
  const listed = args[0] === "run" ? (await import("../policy/registry.ts")).policies : [];
  const exitWith = (code: ExitCode) => {
    exitCode = code;
  };
  const program = buildProgram({ ...context, exitWith }, listed);
  try {
    if (args.length === 0) program.outputHelp();
    else await program.parseAsync(args, { from: "user" });
    return exitCode;
  } catch (error) {
    if (!(error instanceof CommanderError)) return errorCode(error, context);
    if (error.exitCode === 0) return ExitCode.Done; // help or version was asked for
    const message = robotMessage(args[0] ?? "", context) ?? commanderMessage(error, args, program);
    context.err.write(`holdfast: ${printable(message)}\n`);
    return ExitCode.BadInput;
  }
}

function buildProgram(context: CommandContext, listed: readonly ListedPolicy[]): Command {
  const program = new Command("holdfast")
    .description(
      "Runs robots that follow learned policies, and holds fast when anything goes wrong.",
    )
    .version(PROGRAM_VERSION)
    .helpCommand(false)
    .addHelpText("after", HELP)
    .configureOutput({
      writeOut: (text) => context.out.write(text),
      writeErr: () => undefined, // errors are written once, by errorCode
      getOutHelpWidth: () => context.out.columnCount,
      getOutHasColors: () => false,
    })
    .exitOverride();
  addEmulatorCommand(program);
  addRunCommand(program, context, listed);
  addOperatorCommands(program, context);
  addGateCommand(program, context);
  addHostCommand(program, context);
  addPairCommand(program, context);
  addProxyCommand(program, context);
  addProfileCommand(program, context);
  addDoctorCommand(program, context);
  addBenchCommand(program, context);
  addSnapshotCommand(program, context);
  addVersionCommand(program, context);
  return program;
}

function errorCode(error: unknown, { err }: Pick<CommandContext, "err">): ExitCode {
  if (isTyped(error)) {
    // A place a line, for editors to jump to, or lines to paste; any other message is one line.
    const mayBeLong = error instanceof ProfileError || codeText(error) === "realtime_refused";
    const isLong = mayBeLong && error.message.includes("\n");
    const text = isLong ? `\n${printableLines(error.message)}` : ` ${printable(error.message)}`;
    err.write(`holdfast:${text}\n`);
    return ExitCode.BadInput;
  }
  err.write(bugText(error));
  return ExitCode.Bug;
}

/** What is printed for an error that nobody expected. */
export function bugText(error: unknown): string {
  const trace = error instanceof Error ? (error.stack ?? error.message) : String(error);
  const lines = printableLines(trace);
  return `holdfast: this is a bug in holdfast ${PROGRAM_VERSION}; please report it\n${lines}\n`;
}

/** Our typed errors have their facts as fields; the platform's have an errno beside their code. */
function isTyped(error: unknown): error is Error {
  return (
    error instanceof Error &&
    "code" in error &&
    !("errno" in error) &&
    /^[a-z_]+$/.test(codeText(error))
  );
}

const codeText = (error: Error & { readonly code?: unknown }): string => String(error.code);

/** What to say to a robot's name or file where a command is expected; undefined for other words. */
function robotMessage(word: string, { program }: Pick<CommandContext, "program">) {
  const isThere = robotNames.includes(word) || (isPath(word) && existsSync(word));
  if (!isThere) return undefined;
  return `Unknown command ${JSON.stringify(word)}: a robot is run with ${program} run ${word}`;
}

// Messages of the parser in the form of ours: one line, a capital, double quotes, the way to help.
function commanderMessage(
  error: CommanderError,
  args: readonly string[],
  program: Command,
): string {
  const command = program.commands.find((each) => each.name() === args[0]);
  const name = command === undefined ? "holdfast" : `holdfast ${command.name()}`;
  const known = (command ?? program).commands.map((each) => each.name());
  if (error.code === "commander.help") {
    return `Cannot run ${name}: expected one of ${known.join(", ")}, found nothing`;
  }
  const text = error.message
    .replace(/^error: /, "")
    .replace(/\s*\n\s*/g, " ")
    .replace(/'([^']*)'/g, '"$1"')
    .replace(/\.$/, "");
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}: see ${name} --help`;
}
