// Why an address cannot be listened at, in words of ours: each library has its own, and some name
// neither the address nor the reason.

import { codeOf } from "./runtime-folder.ts";
import { UsageError } from "./usage.ts";

const words: ReadonlyMap<string, string> = new Map([
  ["EADDRINUSE", "where another program listens"],
  ["EADDRNOTAVAIL", "which is no address of this machine"],
  ["EACCES", "a port for root alone"],
]);

/** What each option that makes a listener wants. */
const wanted = {
  "--listen": "an address that is free",
  "--metrics": "a port that is free",
} as const;

/** The error to throw for what opening a listener threw. */
export function listenError(
  option: keyof typeof wanted,
  target: string,
  cause: unknown,
): UsageError {
  if (!(cause instanceof Error)) throw cause;
  // Some libraries have the system's name as a field, others in their words.
  const code = [codeOf(cause), ...cause.message.split(/\W/)].find((word) => words.has(word)) ?? "";
  const why = words.get(code) ?? `which cannot be listened at: ${cause.message}`;
  return new UsageError(option, wanted[option], `${target}, ${why}`);
}
