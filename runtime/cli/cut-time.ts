// How long the e-stop takes to stop a robot whose host has gone silent, added up for people: the
// chip's T_wd and its millisecond, its cut delay, and what only the profile knows: how long the
// relays hold, and how long the drive goes on without power.

import type { RobotProfile } from "../contracts/profile.ts";
import { NS_PER_MS } from "../contracts/units.ts";

/** T_wd of the images that ship. */
export const BOARD_T_WD_MS = 25;
export const EMULATED_T_WD_MS = 100;
/** The chip's outputs are open by then after T_wd: `firmware-tests/estop-chip.test.ts`. */
const OUTPUTS_MS = 1;

export type CutConstants = {
  readonly silenceMs: number;
  readonly cutDelayMs: number;
};

/** The chain and its sum, counted from the last good answer; without the key it says what lacks. */
export function cutTimeText(robot: RobotProfile, { silenceMs, cutDelayMs }: CutConstants): string {
  const { powerOff } = robot;
  const parts: readonly (readonly [string, number])[] = [
    ["T_wd ", silenceMs],
    ["", OUTPUTS_MS],
    ...(cutDelayMs > 0 ? [["cut delay ", cutDelayMs] as const] : []),
    ...(powerOff === undefined
      ? []
      : [
          ["relay ", powerOff.relayNs / NS_PER_MS] as const,
          ["drive ", powerOff.driveNs / NS_PER_MS] as const,
        ]),
  ];
  const sum = ms(parts.reduce((total, [, each]) => total + each, 0));
  const chain = parts.map(([name, each]) => `${name}${ms(each)}`).join(" + ");
  return powerOff === undefined
    ? `outputs open ${sum} after the last good answer (${chain}); ` +
        "relay and drive are not in the profile"
    : `stands without power ${sum} after the last good answer (${chain})`;
}

/** Without the noise of a binary sum: whole nanoseconds need six decimals. */
const ms = (value: number): string => `${Number(value.toFixed(6))} ms`;
