// holdfast host: runs a policy for robots on other machines, until a signal ends it. It listens on
// this machine alone; anything else is refused until both sides are paired.

import { ServerCredentials } from "@grpc/grpc-js";
import { Option } from "commander";
import type { Command } from "commander";
import { SeededRandom } from "../contracts/seeded-random.ts";
import { duration } from "../contracts/units.ts";
import type { Duration, Instant } from "../contracts/units.ts";
import { DEFAULT_LINK_PORT, parseAddress } from "../link/address.ts";
import type { LinkAddress } from "../link/address.ts";
import { GrpcHost } from "../link/grpc-host.ts";
import { Mischief } from "../link/mischief.ts";
import { sessionOrigin, SystemClock } from "../workers/system-clock.ts";
import type { CommandContext } from "./command-context.ts";
import { openHostPolicy } from "./policy-host.ts";
import { printable } from "./output.ts";
import { ignoredSignals, watchSignals } from "./signals.ts";
import { ExitCode, lengthOf, quoted, ratioOf, seedOf, textOf, UsageError } from "./usage.ts";
import { PROGRAM_VERSION } from "./version-command.ts";

const DEFAULT_LISTEN = `127.0.0.1:${DEFAULT_LINK_PORT}`;

const HELP = `
Examples:
  holdfast host                                the expert of whatever task a robot has
  holdfast host --policy ./wave.ts             a policy of your own
  holdfast host --latency 150ms --jitter 100ms see what slow answers do
  holdfast host --freeze 10s+3s                plays dead from 10 s to 13 s after its start

On the robot, or in another terminal of this machine:
  holdfast run --policy grpc://${DEFAULT_LISTEN}`;

type Values = {
  readonly listen?: string;
  readonly policy?: string;
  readonly robot?: string;
  readonly latency?: Duration;
  readonly jitter?: Duration;
  readonly drop?: number;
  readonly freeze?: string;
  readonly seed?: number;
};

export function addHostCommand(program: Command, context: CommandContext): void {
  const option = (flags: string, text: string): Option => new Option(flags, text);
  program
    .command("host")
    .summary("run a policy for robots on other machines")
    .description("Runs a policy for robots that connect over gRPC, each with one of its own.")
    .addOption(
      option("--listen <ADDR>", `where (default: ${DEFAULT_LISTEN})`).argParser(textOf("--listen")),
    )
    .addOption(
      option("--policy <P>", "name or path (default: the expert of the robot's task)").argParser(
        textOf("--policy"),
      ),
    )
    .addOption(
      option("--robot <FILE>", "profile of the robots (default: built-in, by name)").argParser(
        textOf("--robot"),
      ),
    )
    .addOption(option("--latency <D>", "hold answers back").argParser(lengthOf("--latency")))
    .addOption(
      option("--jitter <D>", "hold them back up to this longer").argParser(lengthOf("--jitter")),
    )
    .addOption(option("--drop <RATIO>", "lose a share of answers").argParser(ratioOf("--drop")))
    .addOption(option("--freeze <AT+FOR>", "play dead for a while").argParser(textOf("--freeze")))
    .addOption(option("--seed <N>", "of what misbehaves (default: 0)").argParser(seedOf("--seed")))
    .addHelpText("after", HELP)
    .action((values: Values) => serve(values, context));
}

async function serve(values: Values, context: CommandContext): Promise<void> {
  const address = listenAddress(values.listen ?? DEFAULT_LISTEN);
  const clock = new SystemClock(sessionOrigin(), duration(0), { stopped: false });
  const note = (text: string): void => context.err.write(`${printable(text)}\n`);
  const { policy, robot } = values;
  const hosted = { policy, robot };
  const { host, port } = await open(address, {
    credentials: ServerCredentials.createInsecure(),
    nowNs: () => clock.nowNs(),
    runtimeVersions: { holdfast: PROGRAM_VERSION, bun: Bun.version },
    mischief: mischiefOf(values, clock.nowNs()),
    openPolicy: (hello, events) => openHostPolicy(hosted, hello, events, note),
    note,
  });
  const at = address.target.replace(/:\d+$/, `:${port}`);
  context.out.write(`policy host: ${policy ?? "the expert of each robot's task"}, on ${at}\n`);
  context.out.write(`on the robot: ${context.program} run --policy grpc://${at}\n`);
  await new Promise<void>((resolve) => {
    const unwatch = watchSignals(context.signals, ignoredSignals(), () => {
      unwatch();
      resolve();
    });
  });
  host.close();
  context.exitWith(ExitCode.Done);
}

function listenAddress(text: string): LinkAddress {
  const address = parseAddress(text);
  if (address === undefined) {
    throw new UsageError("--listen", "an address such as 127.0.0.1:7777", quoted(text));
  }
  if (!address.isLoopback) {
    const expected = "an address of this machine alone, such as 127.0.0.1:7777";
    throw new UsageError("--listen", expected, quoted(text));
  }
  return address;
}

async function open(
  address: LinkAddress,
  options: Parameters<typeof GrpcHost.open>[1],
): ReturnType<typeof GrpcHost.open> {
  try {
    return await GrpcHost.open(address.target, options);
  } catch (cause) {
    if (!(cause instanceof Error)) throw cause;
    throw new UsageError(
      "--listen",
      "an address that is free",
      `${address.target}: ${cause.message}`,
    );
  }
}

function mischiefOf(values: Values, nowNs: Instant): Mischief | undefined {
  const { latency, jitter, drop = 0, freeze, seed = 0 } = values;
  if (latency === undefined && jitter === undefined && drop === 0 && freeze === undefined) {
    return undefined;
  }
  const [freezeFromNs, freezeNs] = freezeOf(freeze);
  const plan = {
    latencyNs: latency ?? duration(0),
    jitterNs: jitter ?? duration(0),
    dropRatio: drop,
    freezeFromNs,
    freezeUntilNs: duration(freezeFromNs + freezeNs),
  };
  return new Mischief(plan, new SeededRandom(seed), nowNs);
}

function freezeOf(text: string | undefined): readonly [Duration, Duration] {
  if (text === undefined) return [duration(0), duration(0)];
  const [at = "", length = "", ...rest] = text.split("+");
  if (rest.length > 0 || length === "") {
    throw new UsageError("--freeze", "AT+FOR, such as 10s+3s", quoted(text));
  }
  const read = lengthOf("--freeze");
  return [read(at, undefined), read(length, undefined)];
}
