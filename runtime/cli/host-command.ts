// holdfast host: runs a policy for robots on other machines, until a signal ends it. It listens on
// this machine alone; anything else is refused until both sides are paired.

import { Option } from "commander";
import type { Command } from "commander";
import type { Duration } from "../contracts/units.ts";
import { DEFAULT_LISTEN } from "../link/address.ts";
import { lies } from "../link/mischief.ts";
import type { Lie } from "../link/mischief.ts";
import type { CommandContext } from "./command-context.ts";
import { choiceOf, lengthOf, portOf, ratioOf, seedOf, textOf } from "./usage.ts";

const HELP = `
Examples:
  holdfast host                                the expert of whatever task a robot has
  holdfast host --policy ./wave.ts             a policy of your own
  holdfast host --policy ./model.onnx          a model, with its meaning in model.yaml
  holdfast host --robot so101 --task reach     loads before it listens, for these
  holdfast host --metrics 9464                 counts, at http://127.0.0.1:9464/metrics
  holdfast host --latency 150ms --jitter 100ms see what slow answers do
  holdfast host --lie nan                      answers that are no numbers
  holdfast host --freeze 10s+3s                plays dead from 10 s to 13 s after its start

On the robot, or in another terminal of this machine:
  holdfast run --policy grpc://${DEFAULT_LISTEN}

For robots on other machines, once each: holdfast pair --help. Then
  holdfast host --listen 0.0.0.0:7777`;

/** From 0 to 1. */
type DropRatio = number;

// The parser names a value after its option, which has no room for what kind of number it is.
type ListenPort = number;

/** What was typed; `undefined` where it was not. */
export type HostValues = {
  readonly listen?: string;
  readonly policy?: string;
  readonly robot?: string;
  readonly task?: string;
  readonly promise?: Duration;
  readonly latency?: Duration;
  readonly jitter?: Duration;
  readonly drop?: DropRatio;
  readonly freeze?: string;
  readonly lie?: Lie;
  readonly seed?: number;
  readonly metrics?: ListenPort;
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
    .addOption(
      option("--task <FILE>", "task of the robots (default: built-in, by name)").argParser(
        textOf("--task"),
      ),
    )
    .addOption(
      option("--promise <D>", "slower answers than this mean reduced speed").argParser(
        lengthOf("--promise"),
      ),
    )
    .addOption(
      option("--metrics <PORT>", "serve counts to Prometheus, to this machine alone").argParser(
        portOf("--metrics"),
      ),
    )
    .addOption(option("--latency <D>", "hold answers back").argParser(lengthOf("--latency")))
    .addOption(
      option("--jitter <D>", "hold them back up to this longer").argParser(lengthOf("--jitter")),
    )
    .addOption(option("--drop <RATIO>", "lose a share of answers").argParser(ratioOf("--drop")))
    .addOption(option("--freeze <AT+FOR>", "play dead for a while").argParser(textOf("--freeze")))
    .addOption(
      option("--lie <KIND>", `answer wrongly: ${lies.join(", ")}`).argParser(
        choiceOf("--lie", lies),
      ),
    )
    .addOption(option("--seed <N>", "of what misbehaves (default: 0)").argParser(seedOf("--seed")))
    .addHelpText("after", HELP)
    .action(async (values: HostValues) => {
      const { servePolicies } = await import("./host-serve.ts"); // only a host loads gRPC
      await servePolicies(values, context);
    });
}
