// The command that repeats a run: every option that was given, in one order, quoted for a shell.
// What only shows a run (--json, --port) is left out. And what is true of such a repetition.

import { NS_PER_US } from "../contracts/units.ts";
import { policyKind } from "../policy/policy-kind.ts";
import type { PolicyKind } from "../policy/policy-kind.ts";
import { lockstepRefusal } from "./lockstep-refusal.ts";
import type { RunReport } from "./report.ts";
import type { RunValues } from "./run-command.ts";

/** Needs no quotes in any shell. */
const PLAIN = /^[\w./:=,+@%-]+$/;

/** `durationS` is how long the run is to be; undefined for one without an end. */
export function againCommand(
  program: string,
  profile: string | undefined,
  values: RunValues,
  durationS: number | undefined,
): string {
  const words = ["run", ...(profile === undefined ? [] : [profile])];
  const add = (option: string, value: string | number | undefined) => {
    if (value !== undefined) words.push(option, `${value}`);
  };
  add("--policy", values.policy);
  add("--task", values.task);
  add("--duration", durationS);
  add("--time", values.time);
  add("--policy-latency", values.policyLatency);
  add("--seed", values.seed);
  for (const fault of values.fault ?? []) add("--fault", fault);
  if (values.spinTail !== undefined) add("--spin-tail", values.spinTail / NS_PER_US);
  add("--estop", values.estop);
  add("--estop-key", values.estopKey);
  if (values.autoReset === false) words.push("--no-auto-reset");
  if (values.waitForStart === true) words.push("--wait-for-start");
  return [program, ...words].map(quotedForShell).join(" ");
}

const MAY_BE_LOCKSTEP = " (repeats to the bit with --time lockstep)";

// What decides on another machine is no part of this program: asked the same, it may answer
// otherwise. So may a module, which can read any clock and draw any chance.
const repeats: Readonly<Record<PolicyKind, { lockstep: string; streaming: string }>> = {
  shipped: { lockstep: ", to the bit", streaming: MAY_BE_LOCKSTEP },
  model: { lockstep: ", to the bit", streaming: MAY_BE_LOCKSTEP },
  module: { lockstep: ", to the bit if the policy decides alike", streaming: "" },
  remote: { lockstep: ", to the bit if the host decides alike", streaming: "" },
};

/** What may be said of the command that repeats this run. */
export function againLabel({ options, isSteered, failure }: RunReport): string {
  if (isSteered) return "Again, without what you did by hand";
  if (failure !== undefined) return "Again"; // where a thread is lost may be a matter of wall time
  if (options.time === "streaming" && lockstepRefusal(options) !== undefined) return "Again";
  return `Again${repeats[policyKind(options.plan.policy)][options.time]}`;
}

/** Controls would steer the terminal that shows the command, so any shell is told their bytes. */
const CONTROL = /\p{Cc}/u;

function quotedForShell(word: string): string {
  if (CONTROL.test(word)) return `"$(printf %b '${word.replace(/[\p{Cc}'!\\]/gu, escaped)}')"`;
  return PLAIN.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

const escaped = (letter: string): string =>
  [...Buffer.from(letter)].map((byte) => `\\0${byte.toString(8).padStart(3, "0")}`).join("");
