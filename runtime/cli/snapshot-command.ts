// holdfast snapshot: writes one picture of a robot and its task at the start of an episode into a
// JPEG file. The physics loads only when a picture is really drawn.

import { existsSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { Option } from "commander";
import type { Command } from "commander";
import type { CommandContext } from "./command-context.ts";
import { fileKind, NOTHING, REGULAR_FILE } from "./file-kind.ts";
import { printable } from "./output.ts";
import { codeOf } from "./runtime-folder.ts";
import { ExitCode, quoted, seedOf, sizeOf, textOf, UsageError } from "./usage.ts";
import type { PictureSize } from "./usage.ts";

const DEFAULT_SIZE: PictureSize = { widthPx: 960, heightPx: 720 };
const DEFAULT_SEED = 1;

const HELP = `
Examples:
  holdfast snapshot so101 --task pick_place out.jpg
  holdfast snapshot ur5e --seed 7 --size 1280x720 arm.jpg

An existing file is replaced. Exit code: 0 written, 2 bad input.`;

type Values = { readonly task?: string; readonly seed?: number; readonly size?: PictureSize };

export function addSnapshotCommand(program: Command, context: CommandContext): void {
  program
    .command("snapshot")
    .summary("draw a robot and its task into a JPEG file")
    .description("Draws a robot and its task as an episode begins.")
    .argument("<PROFILE>", "robot or deployment with a simulation and a camera")
    .argument("<OUT.jpg>", "file to write")
    .addOption(new Option("--task <NAME>", "default: the profile's").argParser(textOf("--task")))
    .addOption(new Option("--seed <N>", "places the objects").argParser(seedOf("--seed")))
    .addOption(new Option("--size <WxH>", "default: 960x720").argParser(sizeOf("--size")))
    .addHelpText("after", HELP)
    .action(async (profile: string, file: string, values: Values) => {
      if (!/\.jpe?g$/i.test(file)) throw new UsageError("OUT.jpg", "a name in .jpg", quoted(file));
      const folder = dirname(file);
      if (!existsSync(folder)) {
        throw new UsageError("OUT.jpg", "a file in a folder that is there", `no ${quoted(folder)}`);
      }
      requireReplaceable(file);
      const { drawSnapshot } = await import("./snapshot.ts");
      const { task, seed = DEFAULT_SEED, size = DEFAULT_SIZE } = values;
      writeTo(file, await drawSnapshot(profile, task, seed, size));
      context.out.write(`wrote ${printable(file)}, ${size.widthPx}x${size.heightPx}\n`);
      context.exitWith(ExitCode.Done);
    });
}

/** Throws UsageError for something there that is no file: a pipe would be waited for. */
function requireReplaceable(file: string): void {
  const kind = fileKind(file);
  if (kind !== NOTHING && kind !== REGULAR_FILE) {
    throw new UsageError("OUT.jpg", "a place to write", `${kind} at ${quoted(file)}`);
  }
}

function writeTo(file: string, bytes: Uint8Array): void {
  try {
    writeFileSync(file, bytes);
  } catch (cause) {
    throw new UsageError("OUT.jpg", "a place to write", `${codeOf(cause)} at ${quoted(file)}`);
  }
}
