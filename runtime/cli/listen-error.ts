// Why an address cannot be listened at, in words of ours: each library has its own, and some name
// neither the address nor the reason.

import { UsageError } from "./usage.ts";

const words: Readonly<Record<string, string>> = {
  EADDRINUSE: "where another program listens",
  EADDRNOTAVAIL: "which is no address of this machine",
  EACCES: "a port for root alone",
};

/** The error to throw for what opening a listener threw. */
export function listenError(target: string, cause: unknown): UsageError {
  if (!(cause instanceof Error)) throw cause;
  const code = /\bE[A-Z]{3,}\b/.exec(cause.message)?.[0] ?? "";
  const why = words[code] ?? `which cannot be listened at: ${cause.message}`;
  return new UsageError("--listen", "an address that is free", `${target}, ${why}`);
}
