// holdfast version: what a report of a problem needs: the program, the Bun inside, the platform,
// and the schema versions that recordings and artifacts are compared by.

import type { Command } from "commander";
import packageFacts from "../../package.json" with { type: "json" };
import * as schemas from "../contracts/schema-versions.ts";
import type { CommandContext } from "./command-context.ts";
import { ExitCode } from "./usage.ts";

/** The version of this program. */
export const PROGRAM_VERSION: string = packageFacts.version;

export function addVersionCommand(program: Command, context: CommandContext): void {
  program
    .command("version")
    .summary("versions of the program and of what it writes")
    .action(() => {
      context.out.write(`${versionText()}\n`);
      context.exitWith(ExitCode.Done);
    });
}

export function versionText(): string {
  const parts = [
    `sample ${schemas.SAMPLE_SCHEMA_VERSION}`,
    `state ${schemas.STATE_SCHEMA_VERSION}`,
    `action ${schemas.ACTION_SCHEMA_VERSION}`,
    `command ${schemas.COMMAND_SCHEMA_VERSION}`,
    `tick ${schemas.TICK_SCHEMA_VERSION}`,
    `profile ${schemas.PROFILE_SCHEMA_VERSION}`,
  ];
  return [
    `holdfast ${PROGRAM_VERSION}`,
    `Bun      ${Bun.version}`,
    `platform ${process.platform} ${process.arch}`,
    `schemas  ${parts.join(", ")}`,
  ].join("\n");
}
