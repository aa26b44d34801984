// The hidden subcommand that is the emulated e-stop: a run with `--estop emulated` starts it. It
// loads the emulator only when it is asked for.

import type { Command } from "commander";
import { EMULATOR_COMMAND } from "./estop-emulator.ts";

export function addEmulatorCommand(program: Command): void {
  program
    .command(EMULATOR_COMMAND, { hidden: true })
    .description("Runs the e-stop's emulated board until standard input ends.")
    .argument("<FOLDER>", "where its pipe is made")
    .argument("<STOP_MS>", "its SS1-t")
    .action(async (folder: string, stopMs: string) => {
      const image = await import("../../safety/firmware/estop_m328p_emulated.hex", {
        with: { type: "text" },
      });
      const { runEmulator } = await import("../../drivers/estop/emulator.ts");
      runEmulator(image.default, folder, Number(stopMs));
    });
}
