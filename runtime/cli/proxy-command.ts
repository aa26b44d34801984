// holdfast proxy: a TCP line that misbehaves, between a robot and its policy host or any two
// programs. What it does can be changed while it runs, by words on its standard input.

import { createInterface } from "node:readline";
import { Option } from "commander";
import type { Command } from "commander";
import { SeededRandom } from "../contracts/seeded-random.ts";
import { duration } from "../contracts/units.ts";
import type { Duration } from "../contracts/units.ts";
import { parseAddress, parseDialAddress } from "../link/address.ts";
import type { LinkAddress } from "../link/address.ts";
import { FAIR, FaultProxy } from "../link/grpc-fault-proxy.ts";
import type { LineWeather } from "../link/grpc-fault-proxy.ts";
import { sessionOrigin, SystemClock } from "../workers/system-clock.ts";
import type { CommandContext } from "./command-context.ts";
import { listenError } from "./listen-error.ts";
import { firstSignal } from "./signals.ts";
import { countOf, ExitCode, lengthOf, quoted, seedOf, textOf, UsageError } from "./usage.ts";

const DEFAULT_FROM = "127.0.0.1:7778";
const DEFAULT_TO = "127.0.0.1:7777";
const RATE_MAX = 1e10;

const HELP = `
Examples:
  holdfast proxy --latency 30ms --jitter 20ms
  holdfast run --policy grpc://${DEFAULT_FROM}          in another terminal, through it
  echo black-hole | holdfast proxy                   swallows everything from the start

Words on standard input, one a line, at any time:
  black-hole   swallow everything, both ways        fair         pass on again
  reset        end every connection with a reset    half-close   end only the way back`;

type Values = {
  readonly listen?: string;
  readonly to?: string;
  readonly latency?: Duration;
  readonly jitter?: Duration;
  readonly rate?: number;
  readonly slice?: number;
  readonly seed?: number;
};

export function addProxyCommand(program: Command, context: CommandContext): void {
  const option = (flags: string, text: string): Option => new Option(flags, text);
  program
    .command("proxy")
    .summary("a TCP line that misbehaves, to try the policy link with")
    .description("Passes TCP connections on, late, slowly, in slices, or not at all.")
    .addOption(
      option("--listen <ADDR>", `where (default: ${DEFAULT_FROM})`).argParser(textOf("--listen")),
    )
    .addOption(option("--to <ADDR>", `to whom (default: ${DEFAULT_TO})`).argParser(textOf("--to")))
    .addOption(
      option("--latency <D>", "hold back, each way (default: 0ms)").argParser(
        lengthOf("--latency"),
      ),
    )
    .addOption(
      option("--jitter <D>", "and up to this longer (default: 0ms)").argParser(
        lengthOf("--jitter"),
      ),
    )
    .addOption(
      option("--rate <N>", "bytes a second, each way").argParser(countOf("--rate", RATE_MAX)),
    )
    .addOption(
      option("--slice <N>", "bytes written at once at most").argParser(
        countOf("--slice", RATE_MAX),
      ),
    )
    .addOption(option("--seed <N>", "of the jitter (default: 0)").argParser(seedOf("--seed")))
    .addHelpText("after", HELP)
    .action((values: Values) => serve(values, context));
}

async function serve(values: Values, context: CommandContext): Promise<void> {
  const from = addressOf("--listen", values.listen ?? DEFAULT_FROM, parseAddress);
  const to = addressOf("--to", values.to ?? DEFAULT_TO, parseDialAddress);
  if (!from.isLoopback) {
    const expected = "an address of this machine alone, such as 127.0.0.1:7778";
    throw new UsageError("--listen", expected, quoted(from.target));
  }
  const clock = new SystemClock(sessionOrigin(), duration(0), { stopped: false });
  const parts = { random: new SeededRandom(values.seed ?? 0), nowNs: () => clock.nowNs() };
  const proxy = await open(from, to, parts);
  const plain = weatherOf(values);
  proxy.weather = plain;
  const ended = firstSignal(context.signals, () => context.leave(ExitCode.Interrupted));
  context.out.write(`proxy: ${from.host}:${proxy.port} passes on to ${to.target}\n`);
  const words = createInterface({ input: process.stdin });
  words.on("line", (word) => context.out.write(`${obey(word.trim(), proxy, plain)}\n`));
  await ended;
  words.close();
  proxy.close();
  context.exitWith(ExitCode.Done);
}

/** Does what a word says; what to tell. */
function obey(word: string, proxy: FaultProxy, plain: LineWeather): string {
  const acts: Readonly<Record<string, () => void>> = {
    "black-hole": () => {
      proxy.weather = { ...plain, isBlackHole: true };
    },
    fair: () => {
      proxy.weather = plain;
    },
    reset: () => proxy.reset(),
    "half-close": () => proxy.halfClose(),
  };
  const act = Object.hasOwn(acts, word) ? acts[word] : undefined;
  if (act === undefined) return `unknown word: expected ${Object.keys(acts).join(", ")}`;
  act();
  return `${word}: ${proxy.lineCount} connections`;
}

async function open(
  from: LinkAddress,
  to: LinkAddress,
  parts: Parameters<typeof FaultProxy.open>[2],
): Promise<FaultProxy> {
  try {
    return await FaultProxy.open(from, to, parts);
  } catch (cause) {
    throw listenError("--listen", from.target, cause);
  }
}

function addressOf(option: string, text: string, parse: typeof parseAddress): LinkAddress {
  const address = parse(text);
  if (address !== undefined) return address;
  throw new UsageError(option, "an address such as 127.0.0.1:7777", quoted(text));
}

function weatherOf({ latency, jitter, rate, slice }: Values): LineWeather {
  return {
    ...FAIR,
    latencyMs: (latency ?? 0) / 1e6,
    jitterMs: (jitter ?? 0) / 1e6,
    bytesPerS: rate ?? Infinity,
    sliceSizeBytes: slice ?? Infinity,
  };
}
