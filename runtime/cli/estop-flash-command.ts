// holdfast estop flash: writes the e-stop's firmware into an Uno or Nano. It shows the wiring
// first, because a board with the image and without its pull-downs is no e-stop, and asks for the
// port to be typed, because whatever e-stop runs there ends.

import { readFileSync } from "node:fs";
import { Option } from "commander";
import type { Command } from "commander";
import { IntelHexError, readIntelHex } from "../../drivers/estop/intel-hex.ts";
import { FLASH_SIZE_BYTES_MAX } from "../../drivers/estop/stk500.ts";
import { WIRING } from "../../drivers/estop/wiring.ts";
import type { CommandContext } from "./command-context.ts";
import type { KeyTerminal } from "./keys.ts";
import { printable } from "./output.ts";
import { codeOf } from "./runtime-folder.ts";
import { ExitCode, quoted, textOf, UsageError } from "./usage.ts";

const SHIPPED = "m328p";
const ERASED = 0xff;

const HELP = `
Examples:
  holdfast estop flash /dev/serial/by-id/usb-1a86_USB_Serial-if00-port0
  holdfast estop flash /dev/ttyUSB0 --image estop_m328p.hex --yes

The image m328p is the shipped one: T_wd 25 ms, SS1-t 300 ms, limit chain fitted.
Exit code: 0 flashed and read back, 1 the board did not take it, 2 bad input.`;

type Values = { readonly image?: string; readonly yes?: boolean };

export function addFlashCommand(estop: Command, context: CommandContext): void {
  estop
    .command("flash")
    .summary("write the firmware into an Uno or Nano")
    .description("Writes the e-stop's firmware into an Uno or Nano, and reads it back.")
    .argument("<PORT>", "serial port of the board")
    .addOption(
      new Option("--image <m328p|FILE.hex>", `default: ${SHIPPED}`).argParser(textOf("--image")),
    )
    .option("--yes", "do not ask: what runs on the board ends")
    .addHelpText("after", HELP)
    .action(async (port: string, { image = SHIPPED, yes = false }: Values) => {
      const bytes = bytesOf(await textOfImage(image));
      context.out.write(`Wiring of an Uno or Nano:\n\n${WIRING}\n`);
      await confirm(context, port, yes);
      await flash(context, port, bytes);
    });
}

async function textOfImage(image: string): Promise<string> {
  if (image === SHIPPED) {
    const shipped = await import("../../safety/firmware/estop_m328p.hex", {
      with: { type: "text" },
    });
    return shipped.default;
  }
  try {
    return readFileSync(image, "latin1");
  } catch (cause) {
    const expected = `${SHIPPED}, or an Intel HEX file`;
    throw new UsageError("--image", expected, `${codeOf(cause)} at ${quoted(image)}`);
  }
}

function bytesOf(text: string): Uint8Array {
  const flash = new Uint8Array(FLASH_SIZE_BYTES_MAX).fill(ERASED);
  try {
    readIntelHex(text, flash);
  } catch (cause) {
    if (!(cause instanceof IntelHexError)) throw cause;
    const expected = `an Intel HEX image of at most ${FLASH_SIZE_BYTES_MAX} bytes`;
    throw new UsageError("--image", expected, `line ${cause.line}: ${cause.reason}`);
  }
  const size = flash.findLastIndex((byte) => byte !== ERASED) + 1;
  if (size === 0) throw new UsageError("--image", "an image", "no data in it");
  return flash.subarray(0, size);
}

async function confirm(context: CommandContext, port: string, isSure: boolean): Promise<void> {
  if (isSure) return;
  if (context.keyboard === undefined) {
    throw new UsageError("estop flash", "--yes where nobody can be asked", "no terminal");
  }
  const place = printable(port);
  context.out.write(`Flashing ends the e-stop that runs on this board.\nType ${place} to go on: `);
  const typed = await lineOf(context.keyboard);
  if (typed === port) return;
  throw new UsageError("estop flash", `${quoted(port)} to be typed`, quoted(typed));
}

/** One line as it is typed; what there is of it when the terminal ends. */
function lineOf(terminal: KeyTerminal): Promise<string> {
  return new Promise((resolve) => {
    let text = "";
    const end = (): void => {
      terminal.off("data", take);
      terminal.off("end", end);
      terminal.pause();
      resolve(text.split("\n")[0]!.trim());
    };
    const take = (data: Uint8Array): void => {
      text += new TextDecoder().decode(data);
      if (text.includes("\n")) end();
    };
    terminal.on("data", take);
    terminal.on("end", end);
    terminal.resume();
  });
}

async function flash(context: CommandContext, port: string, image: Uint8Array): Promise<void> {
  const { flashBoard, FlashError } = await import("./estop-flash.ts");
  try {
    await flashBoard(port, image, (text) => context.out.write(`${text}\n`));
  } catch (cause) {
    if (!(cause instanceof FlashError)) throw cause;
    context.err.write(`holdfast: ${printable(cause.message)}\n`);
    context.exitWith(ExitCode.Failed);
    return;
  }
  const next = `${context.program} run --estop ${port}`;
  context.out.write(`flashed ${image.length} bytes, all read back right; go on with ${next}\n`);
  context.exitWith(ExitCode.Done);
}
