// How a Worker starts, for every kind of run: it must say ready, and what it does instead is one
// clear error. A person is told when that takes long.

import { errorWords } from "../policy/error-text.ts";
import { isWorkerMessage } from "./thread.ts";

/**
 * A Worker must say something within this: wasm compiles in 0.6 s, in 6 s on a busy machine. One
 * that tells what it waits for, as of a model that loads on another machine, is waited for.
 */
const READY_MS_MAX = 30_000;
/** How long a thread may take to load before a person is told what is waited for. */
const PATIENCE_MS = 2_000;

/** What is used of a thread that the composition root has spawned. */
export type SpawnedThread = {
  on(event: "message", listener: (message: unknown) => void): unknown;
  /** Of whatever was thrown there. */
  on(event: "error", listener: (error: unknown) => void): unknown;
  on(event: "exit", listener: (code: number) => void): unknown;
  postMessage(message: "go"): void;
  terminate(): Promise<unknown>;
};

export class ThreadStartError extends Error {
  override readonly name = "ThreadStartError";
  readonly code = "thread_start";
  readonly thread: string;

  constructor(thread: string, why: string) {
    super(`Cannot start the ${thread} thread: ${why}`);
    this.thread = thread;
  }
}

/** Resolves once the thread says ready, or something else in time. Throws ThreadStartError. */
export async function untilReady(
  thread: SpawnedThread,
  name: string,
  note: (text: string) => void,
  readyMsMax: number = READY_MS_MAX,
): Promise<void> {
  let failure = "";
  const ready = new Promise<void>((resolve, reject) => {
    const refuse = (why: string): void => reject(new ThreadStartError(name, why));
    const tooLong = setTimeout(
      () => refuse(`it was not ready within ${readyMsMax / 1000} s`),
      readyMsMax,
    ).unref();
    thread.on("message", (message) => {
      if (!isWorkerMessage(message)) return;
      if (message.kind === "ready") resolve();
      else tooLong.refresh();
    });
    thread.on("error", (error: unknown) => {
      failure = errorWords(error);
      refuse(failure);
    });
    thread.on("exit", () => refuse(failure || "it ended while loading"));
  });
  const slow = setTimeout(() => note(`waiting for the ${name} thread to load`), PATIENCE_MS);
  try {
    await ready;
  } finally {
    clearTimeout(slow);
  }
}
