// PolicyThread: main's hold on the policy thread of a lockstep run: starts it, knows whether it
// lives and whether it is silent, and ends it. Unlike the threads of a streaming run it holds no
// device, so it is ended by force: it may be in an act that never returns.

import { errorWords } from "../policy/error-text.ts";
import { createArena } from "../shm/arena.ts";
import type { Arena } from "../shm/arena.ts";
import { ControlWords, ThreadSlot } from "../shm/control-words.ts";
import { lockstepParts } from "./lockstep-plan.ts";
import type { RunPlan, WorkerPlan } from "./plan.ts";
import { sessionOrigin } from "./system-clock.ts";
import { untilReady } from "./thread-start.ts";
import type { SpawnedThread } from "./thread-start.ts";
import { isWorkerMessage } from "./thread.ts";

/** A thread in a system call that never returns cannot be ended; the process leaves without it. */
const END_MS_MAX = 1_000;

export class PolicyThread {
  readonly arena: Arena;
  /** What the policy calls itself; empty until it has loaded. */
  name = "";
  /** Why it ended unasked; undefined while it lives. */
  lostWhy: string | undefined;
  readonly #run: RunPlan;
  readonly #spawn: (plan: WorkerPlan) => SpawnedThread;
  readonly #words: ControlWords;
  #thread: SpawnedThread | undefined;

  /** `spawn` comes from the composition root, the only place that may. */
  constructor(run: RunPlan, spawn: (plan: WorkerPlan) => SpawnedThread) {
    this.arena = createArena(lockstepParts(run));
    this.#words = new ControlWords(this.arena.words("control"));
    this.#run = run;
    this.#spawn = spawn;
  }

  /** Loads the policy in a thread of its own. Throws ThreadStartError. */
  async start(note: (text: string) => void): Promise<void> {
    const arena = this.arena.handle;
    const origin = sessionOrigin();
    const thread = this.#spawn({ run: this.#run, arena, origin, scene: undefined });
    this.#thread = thread;
    let failure = "";
    thread.on("message", (message) => {
      if (!isWorkerMessage(message)) return;
      if (message.kind === "policy") this.name = message.name;
      if (message.kind === "note") note(message.text);
    });
    thread.on("error", (error: unknown) => {
      failure = errorWords(error);
    });
    thread.on("exit", (code) => {
      this.#thread = undefined;
      this.lostWhy ??= failure || `it ended with code ${code}`;
    });
    await untilReady(thread, "policy", note);
    thread.postMessage("go");
  }

  /** Changes as long as the thread's event loop turns. */
  get beatCount(): number {
    return this.#words.aliveCount(ThreadSlot.policy);
  }

  /** Gives it up for good. */
  lose(why: string): void {
    this.lostWhy ??= why;
    void this.#thread?.terminate();
  }

  /** Ends it, whatever it is doing. May be called at any time, and again. */
  async end(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    setTimeout(resolve, END_MS_MAX).unref();
    await Promise.race([this.#thread?.terminate(), promise]);
  }
}
