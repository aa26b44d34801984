// holdfast stop, reset, start, status and estop: speak to live runs over their sockets. A stop
// needs no choice and reaches every run of this user, and so does one that parks; the others ask
// which one when there are more.

import { Option } from "commander";
import type { Command } from "commander";
import type { CommandContext } from "./command-context.ts";
import { addFlashCommand } from "./estop-flash-command.ts";
import { writeJson } from "./json-out.ts";
import { askRun, OperatorError, runSockets } from "./operator-client.ts";
import type { RunSocket } from "./operator-client.ts";
import type { OperatorAnswer, OperatorMethod } from "./operator-protocol.ts";
import { printable } from "./output.ts";
import type { RunStatus } from "./run-handle.ts";
import { statusReport } from "./status-line.ts";
import { ExitCode, pidOf, UsageError } from "./usage.ts";

type Values = {
  readonly pid?: number;
  readonly json?: boolean;
  /** Stop and lay down what would fall, then let go. */
  readonly park?: boolean;
  /** Only the e-stop's part of a status is asked for. */
  readonly isEstop?: boolean;
};

/** Whoever types stop means each run, also one that another session or a service started. */
const PLACES = `
Each run of this user is found, by its socket in $XDG_RUNTIME_DIR/holdfast, /tmp/holdfast-UID or
/run/user/UID/holdfast, whatever this session's own $XDG_RUNTIME_DIR is.`;

/** One run and what it said; an error stands for a run that could not be talked to. */
type Heard = { readonly run: RunSocket; readonly answer: OperatorAnswer | OperatorError };

const texts: Readonly<Record<OperatorMethod, string>> = {
  stop: "stop every live run, or one; needs no authority",
  park: "lay down what would fall without power, then let go: 5 s at most",
  reset: "leave a stop; nothing moves yet. An e-stop that waits for its reset is armed first",
  start: "let a run that was reset move again",
  arm: "press the reset that an emulated e-stop, or a bench build, waits for",
  prooftest: "have the proof test tried again after it failed",
  status: "show how a run is",
};

export function addOperatorCommands(program: Command, context: CommandContext): void {
  for (const method of ["stop", "reset", "start", "status"] as const) {
    const command = program
      .command(method)
      .summary(texts[method])
      .description(`${texts[method]}.`)
      .addHelpText("after", PLACES)
      .addOption(new Option("--pid <N>", "which run, by process id").argParser(pidOf("--pid")));
    if (method === "status") command.option("--json", "print one line of JSON");
    if (method === "stop") command.option("--park", texts.park);
    command.action(async (values: Values) => {
      await operate(context, values.park === true ? "park" : method, values);
    });
  }
  addEstopCommands(program, context);
}

function addEstopCommands(program: Command, context: CommandContext): void {
  const estop = program
    .command("estop")
    .summary("the independent e-stop: status, arm and prooftest of a run, flash of a board")
    .description("Speaks to the independent e-stop of a live run, or flashes a board.");
  const add = (name: string, method: OperatorMethod, text: string): void => {
    const command = estop.command(name);
    if (name === "arm") command.alias("reset"); // on a board it says which button to press
    command
      .summary(text)
      .description(`${text}.`)
      .addOption(new Option("--pid <N>", "which run, by process id").argParser(pidOf("--pid")))
      .action(async ({ pid }: Values) => {
        const isEstop = method === "status";
        await operate(context, method, { ...(pid !== undefined && { pid }), isEstop });
      });
  };
  add("status", "status", "show its mode and why it is open");
  add("arm", "arm", texts.arm);
  add("prooftest", "prooftest", texts.prooftest);
  addFlashCommand(estop, context);
}

async function operate(
  context: CommandContext,
  method: OperatorMethod,
  values: Values,
): Promise<void> {
  const chosen = await choose(context, method, values.pid);
  // All at once: a run that hangs must not hold up the stop of the next.
  const all = await Promise.all(chosen.map((run) => hear(run, method)));
  const heard = all.filter(({ answer }) => !isGone(answer));
  if (heard.length === 0) {
    const which = values.pid === undefined ? "No run is live" : `No run ${values.pid} is live`;
    context.err.write(`holdfast: ${which}: start one with "${context.program} run"\n`);
    context.exitWith(ExitCode.Failed);
    return;
  }
  const isDone = heard.map((each) => report(context, each, values));
  context.exitWith(isDone.every(Boolean) ? ExitCode.Done : ExitCode.Failed);
  if (values.json !== true) return;
  for (const { run, answer } of heard) {
    if (answer instanceof OperatorError || answer.kind !== "status") continue;
    await writeJson(context, { pid: run.pid, ...answer.status });
  }
}

/** The runs that are meant, some of which may have died. Throws UsageError when it is unclear. */
async function choose(
  context: CommandContext,
  method: OperatorMethod,
  pid: number | undefined,
): Promise<RunSocket[]> {
  const sockets = runSockets(context.user).filter((run) => pid === undefined || run.pid === pid);
  if (method === "stop" || method === "park" || sockets.length < 2) return sockets;
  const looked = await Promise.all(sockets.map((run) => hear(run, "status")));
  const live = looked.filter(({ answer }) => !isGone(answer));
  if (live.length < 2) return live.map(({ run }) => run);
  const names = live.map(({ run, answer }) => {
    const isStatus = !(answer instanceof OperatorError) && answer.kind === "status";
    return isStatus ? `${run.pid} (${printable(answer.status.profile)})` : `${run.pid}`;
  });
  throw new UsageError(method, "--pid to say which run", `${names.length}: ${names.join(", ")}`);
}

async function hear(run: RunSocket, method: OperatorMethod): Promise<Heard> {
  try {
    return { run, answer: await askRun(run, method) };
  } catch (cause) {
    if (cause instanceof OperatorError) return { run, answer: cause };
    throw cause;
  }
}

const isGone = (answer: Heard["answer"]): boolean =>
  answer instanceof OperatorError && answer.code === "no_listener";

/** Writes what one run said. True when it did what was asked. */
function report(context: CommandContext, { run, answer }: Heard, values: Values): boolean {
  if (answer instanceof OperatorError) {
    context.err.write(`holdfast: ${answer.message}\n`);
    return false;
  }
  switch (answer.kind) {
    case "status":
      if (values.json !== true) {
        context.out.write(`${statusWords(context, run, answer.status, values)}\n`);
      }
      return true;
    case "cue":
      context.out.write(`run ${run.pid}: ${printable(answer.cue.text)}\n`);
      return answer.cue.accepted;
    case "refused":
      context.err.write(`holdfast: run ${run.pid} refuses: ${printable(answer.message)}\n`);
      return false;
    default:
      return answer satisfies never;
  }
}

function statusWords(
  context: CommandContext,
  { pid }: RunSocket,
  status: RunStatus,
  { isEstop }: Values,
): string {
  if (isEstop === true) {
    const cutTime = status.cutTime === "" ? "" : `\n  ${printable(status.cutTime)}`;
    return `run ${pid}: e-stop ${printable(status.estop)}${cutTime}`;
  }
  return statusReport(status, pid, context.program);
}
