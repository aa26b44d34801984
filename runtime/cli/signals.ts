// Signals that end a run. The first one asks for an end under control, the second leaves at once.
// A signal that was ignored when the process started stays ignored, so that `nohup` works.

import { readFileSync } from "node:fs";

const signals = { SIGINT: 2, SIGTERM: 15, SIGHUP: 1 } as const;
export type EndSignal = keyof typeof signals;
const endSignals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** The part of `process` that is used. */
export interface SignalSource {
  on(event: EndSignal, listener: () => void): unknown;
  off(event: EndSignal, listener: () => void): unknown;
}

/** Calls `onSignal` for each signal until the returned function is called. */
export function watchSignals(
  source: SignalSource,
  ignoredMask: bigint,
  onSignal: (signal: EndSignal) => void,
): () => void {
  const watched = endSignals
    .filter((signal) => signal !== "SIGHUP" || !isIgnored(ignoredMask, signal))
    .map((signal) => ({ signal, listener: () => onSignal(signal) }));
  for (const { signal, listener } of watched) source.on(signal, listener);
  return () => {
    for (const { signal, listener } of watched) source.off(signal, listener);
  };
}

/** The signals this process was started to ignore, one bit each, as the kernel tells. */
export function ignoredSignals(): bigint {
  const status = readFileSync("/proc/self/status", "utf8");
  return BigInt(`0x${/^SigIgn:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? "0"}`);
}

const isIgnored = (mask: bigint, signal: EndSignal): boolean =>
  (mask & (1n << BigInt(signals[signal] - 1))) !== 0n;
