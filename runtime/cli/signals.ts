// Signals to a process that has something to end. Those that ask for an end are told; those that
// ask for nothing here are heard and do nothing, for unheard they kill the process where it stands.
// A hang-up that was ignored when the process started stays ignored, so that `nohup` works.

import { readFileSync } from "node:fs";

const SIGHUP = 1;
/** SIGXCPU: the processor time it was granted is used up, and SIGKILL follows. */
const endSignals = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGXCPU"] as const;
/** Each of them kills a process that does not listen for it. */
const idleSignals = ["SIGUSR1", "SIGUSR2", "SIGALRM", "SIGVTALRM", "SIGPROF", "SIGIO"] as const;
type HeardSignal = (typeof endSignals)[number] | (typeof idleSignals)[number];
/** `timeout` and a shell signal a process and its group: two signals this close are one act. */
const ECHO_MS = 500;

/** The part of `process` that is used. */
export interface SignalSource {
  on(event: HeardSignal, listener: () => void): unknown;
}

/** Calls `onSignal` for each signal that asks for an end, until the process ends. */
export function watchSignals(
  source: SignalSource,
  ignoredMask: bigint,
  onSignal: () => void,
): void {
  for (const signal of endSignals) {
    const isWanted = signal !== "SIGHUP" || !isIgnored(ignoredMask, SIGHUP);
    if (isWanted) source.on(signal, onSignal);
  }
  for (const signal of idleSignals) source.on(signal, () => undefined);
}

/** Lets the first of signals through that come within half a second. */
export function oncePerAct(onAct: () => void): () => void {
  let isFresh = false;
  return () => {
    if (isFresh) return;
    isFresh = true;
    setTimeout(() => {
      isFresh = false;
    }, ECHO_MS).unref();
    onAct();
  };
}

/**
 * Resolves at the first act; the next one leaves at once. It is asked for before anybody can know
 * that there is something to end, and listens until the process ends: a signal that comes while
 * things are opened or closed means the same at any moment.
 */
export function firstSignal(source: SignalSource, leaveAtOnce: () => void): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let isEnding = false;
  const act = oncePerAct(() => {
    if (isEnding) leaveAtOnce();
    isEnding = true;
    resolve();
  });
  watchSignals(source, ignoredSignals(), act);
  return promise;
}

/** The signals this process was started to ignore, one bit each, as the kernel tells. */
export function ignoredSignals(): bigint {
  const status = readFileSync("/proc/self/status", "utf8");
  return BigInt(`0x${/^SigIgn:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? "0"}`);
}

const isIgnored = (mask: bigint, signal: number): boolean =>
  (mask & (1n << BigInt(signal - 1))) !== 0n;
