// holdfast pair: lets a robot and a policy host on another machine trust each other, once, by a
// code that a person carries from one to the other. Also what they trust, and an end to it.

import { Option } from "commander";
import type { Command } from "commander";
import type { CommandContext } from "./command-context.ts";
import { textOf } from "./usage.ts";

/** Beside the port of the policies, so that a host that runs need not end. */
const DEFAULT_PAIR_LISTEN = "0.0.0.0:7776";

const HELP = `
Once for each robot:
  holdfast pair host                               on the policy host: shows a code, and waits
  holdfast pair grpc://gpu.lan:7776                on the robot: asks for the code
After that:
  holdfast host --listen 0.0.0.0:7777              on the policy host
  holdfast run --policy grpc://gpu.lan             on the robot

A code works once, for 5 minutes, and is void after 3 wrong tries. With --code it is not asked for,
and this machine's process list shows it. Compare the two keys that both sides print.`;

type PairValues = { readonly code?: string };
type PairHostValues = { readonly listen?: string };

export function addPairCommand(program: Command, context: CommandContext): void {
  const pair = program
    .command("pair")
    .summary("let a robot and a policy host on another machine trust each other")
    .description("Pairs this robot with the policy host that waits at ADDR, by its one-time code.")
    .argument("<ADDR>", "what the host printed, such as grpc://gpu.lan:7776")
    .addOption(
      new Option("--code <CODE>", "the host's code (default: asked for)").argParser(
        textOf("--code"),
      ),
    )
    .addHelpText("after", HELP)
    .action(async (address: string, values: PairValues) => {
      const { pairRobot } = await import("./pair-exchange.ts"); // certificates load late
      await pairRobot(address, values.code, context);
    });
  pair
    .command("host")
    .description("On a policy host: shows a one-time code and waits for one robot.")
    .addOption(
      new Option("--listen <ADDR>", `where (default: ${DEFAULT_PAIR_LISTEN})`).argParser(
        textOf("--listen"),
      ),
    )
    .action(async (values: PairHostValues) => {
      const { pairHost } = await import("./pair-exchange.ts");
      await pairHost(values.listen ?? DEFAULT_PAIR_LISTEN, context);
    });
  pair
    .command("list")
    .description("What this machine is paired with, as a host and as a robot.")
    .action(async () => {
      const { listPairs } = await import("./pair-list.ts");
      listPairs(context);
    });
  pair
    .command("revoke")
    .description(
      "Ends the trust in a robot within a second, in a host from the next connection on.",
    )
    .argument("<NAME>", "as pair list shows it")
    .action(async (name: string) => {
      const { revokePair } = await import("./pair-list.ts");
      revokePair(name, context);
    });
}
