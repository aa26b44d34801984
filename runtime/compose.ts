// The composition root of a streaming run: makes the memory, spawns every Worker, starts them in
// order, watches them, and stops them under control. The only file that spawns a Worker, for other
// runs too: from anywhere else the path breaks in the compiled binary.

import { Worker } from "node:worker_threads";
import { CpuWake } from "../hal/cpu-wake.ts";
import { lockMemory } from "../hal/ffi/scheduling.ts";
import type { Grant } from "../hal/ffi/scheduling.ts";
import type { OperatorCue } from "./contracts/mode.ts";
import { LOAD_NS_MAX } from "./link/limits.ts";
import { errorWords } from "./policy/error-text.ts";
import { createArena } from "./shm/arena.ts";
import type { Arena } from "./shm/arena.ts";
import { ControlWords, StopLevel, ThreadSlot, ThreadState } from "./shm/control-words.ts";
import { arenaParts } from "./workers/plan.ts";
import type { BenchTickPlan } from "./workers/bench-tick.worker.ts";
import type {
  FromHostPolicy,
  HostPolicyPlan,
  MarkedMessage,
  MarkedPlan,
  ToHostPolicy,
} from "./workers/host-policy.worker.ts";
import type { RunPlan, WorkerPlan } from "./workers/plan.ts";
import type { PolicyCheckPlan } from "./workers/policy-check.worker.ts";
import { PolicyThread } from "./workers/policy-thread.ts";
import { sessionOrigin } from "./workers/system-clock.ts";
import { ThreadStartError, untilReady } from "./workers/thread-start.ts";
import { isWorkerMessage } from "./workers/thread.ts";

/** After this a stop is no longer waited for. */
const STOP_MS_MAX = 3_000;

type ThreadName = "robot" | "estop" | "policy" | "camera" | "control";

// Start order, and the entry of each thread. Control comes last, so that it finds its samples.
const entries: readonly { name: ThreadName; slot: ThreadSlot; realtime: boolean; url: URL }[] = [
  {
    name: "robot",
    slot: ThreadSlot.robot,
    realtime: true,
    url: new URL("./workers/robot.worker.ts", import.meta.url),
  },
  {
    name: "estop",
    slot: ThreadSlot.estop,
    realtime: true,
    url: new URL("./workers/estop.worker.ts", import.meta.url),
  },
  {
    name: "policy",
    slot: ThreadSlot.policy,
    realtime: false,
    url: new URL("./workers/policy.worker.ts", import.meta.url),
  },
  {
    name: "camera",
    slot: ThreadSlot.camera,
    realtime: false,
    url: new URL("./workers/camera.worker.ts", import.meta.url),
  },
  {
    name: "control",
    slot: ThreadSlot.control,
    realtime: true,
    url: new URL("./workers/control.worker.ts", import.meta.url),
  },
];

export type ThreadEnd = {
  readonly name: ThreadName;
  readonly asked: boolean;
  readonly why: string;
};

/** What the machine granted, thread by thread. */
export type StartReport = {
  readonly memoryLock: Grant;
  readonly realtime: readonly { readonly name: ThreadName; readonly grant: Grant }[];
};

export class StreamingThreads {
  readonly arena: Arena;
  readonly words: ControlWords;
  readonly origin: ReturnType<typeof sessionOrigin>;
  /** What the policy calls itself; empty until its thread has loaded. */
  policyName = "";
  /** Why the policy decides nothing; empty while it decides, or nothing is known. */
  policyTrouble = "";
  /** The thread that loads now; undefined before and after that. */
  loading: ThreadName | undefined;
  #plan: WorkerPlan;
  readonly #workers = new Map<ThreadName, Worker>();
  readonly #exits: Promise<void>[] = [];
  readonly #ended = new Set<ThreadName>();
  readonly #ready = new Set<ThreadName>();
  readonly #going = new Set<ThreadName>();
  readonly #note: (text: string) => void;
  #onEnd: (end: ThreadEnd) => void = () => undefined;
  #wake: CpuWake | undefined;
  #stopping = false;

  /** `note` gets one line for a person whenever something is worth telling. */
  constructor(run: RunPlan, note: (text: string) => void) {
    this.arena = createArena(arenaParts(run));
    this.words = new ControlWords(this.arena.words("control"));
    this.origin = sessionOrigin();
    this.#plan = { run, arena: this.arena.handle, origin: this.origin, scene: undefined };
    this.#note = note;
  }

  /** Called when a thread ends that nobody asked to end: always a fault. */
  onUnaskedEnd(listener: (end: ThreadEnd) => void): void {
    this.#onEnd = listener;
  }

  /** Leaves a cue for the next tick. Never refused. */
  cue(cue: OperatorCue): void {
    this.words.raiseCue(cue);
  }

  /** Spawns one after the other, locks memory once all are ready, then sets them going. */
  async start(): Promise<StartReport> {
    const hasCamera = this.#plan.run.robot.sim?.camera !== undefined;
    const hasEstop = this.#plan.run.estop !== undefined;
    const isWanted = {
      robot: true,
      estop: hasEstop,
      policy: true,
      camera: hasCamera,
      control: true,
    };
    const wanted = entries.filter((entry) => isWanted[entry.name]);
    for (const entry of wanted) {
      this.loading = entry.name;
      await this.#spawn(entry.name, entry.slot, entry.url);
    }
    this.loading = undefined;
    const memoryLock = lockMemory();
    this.#wake = new CpuWake();
    const realtime: { name: ThreadName; grant: Grant }[] = [];
    for (const entry of wanted) {
      const grant = await this.#go(entry.name);
      if (entry.realtime) realtime.push({ name: entry.name, grant });
    }
    return { memoryLock, realtime };
  }

  /** Ends every thread under control. The threads that did not end in time. */
  async stop(): Promise<readonly ThreadName[]> {
    this.#stopping = true;
    this.words.requestStop(StopLevel.motion);
    this.words.requestStop(StopLevel.records);
    // A thread that was never set going looks at no stop word: it has nothing to end in order.
    for (const [name, worker] of this.#workers) {
      if (this.#ready.has(name) && !this.#going.has(name)) await worker.terminate();
    }
    await Promise.race([Promise.all(this.#exits), after(STOP_MS_MAX)]);
    this.#wake?.release();
    return [...this.#workers.keys()].filter((name) => !this.#ended.has(name));
  }

  async #spawn(name: ThreadName, slot: ThreadSlot, url: URL): Promise<void> {
    const worker = new Worker(url, { workerData: this.#plan, name: `hf-${name}` });
    this.#workers.set(name, worker);
    let failure = "";
    let isReady = false;
    worker.on("message", (message: unknown) => {
      if (!isWorkerMessage(message)) return;
      if (message.kind === "ready" && message.scene !== undefined) {
        this.#plan = { ...this.#plan, scene: message.scene };
      }
      if (message.kind === "policy") this.policyName = message.name;
      if (message.kind === "trouble") this.policyTrouble = message.text;
      if (message.kind === "note") this.#note(message.text);
    });
    worker.on("error", (error: unknown) => {
      failure = errorWords(error);
    });
    this.#exits.push(
      new Promise<void>((resolve) => {
        worker.on("exit", (code) => {
          this.#ended.add(name);
          resolve();
          if (this.#stopping || !isReady) return;
          this.words.setState(slot, ThreadState.crashed);
          this.#onEnd({ name, asked: false, why: failure || `it ended with code ${code}` });
        });
      }),
    );
    await untilReady(worker, name, this.#note);
    isReady = true;
    this.#ready.add(name);
  }

  /** Sets a ready thread going; what priority it was granted. Throws ThreadStartError. */
  #go(name: ThreadName): Promise<Grant> {
    const worker = this.#workers.get(name);
    return new Promise((resolve, reject) => {
      const refuse = (): void =>
        reject(new ThreadStartError(name, "it ended before the run began"));
      if (worker === undefined || this.#ended.has(name)) {
        refuse();
        return;
      }
      worker.on("exit", refuse);
      worker.on("message", (message: unknown) => {
        if (isWorkerMessage(message) && message.kind === "running") resolve(message);
      });
      this.#going.add(name);
      worker.postMessage("go");
    });
  }
}

function after(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}

export type HostPolicyThread = {
  post(message: ToHostPolicy): void;
  terminate(): void;
};

/** Starts the thread of one robot's policy on a policy host. `onEnd` hears of any end, and why. */
export function spawnHostPolicy(
  plan: HostPolicyPlan,
  onMessage: (message: FromHostPolicy) => void,
  onEnd: (why: string) => void,
): HostPolicyThread {
  const url = new URL("./workers/host-policy.worker.ts", import.meta.url);
  // A policy shares its thread's port and may post anything: what has this word is ours.
  const word = crypto.randomUUID();
  const workerData: MarkedPlan = { ...plan, word };
  const worker = new Worker(url, { workerData, name: "hf-host-policy" });
  let failure = "its thread ended";
  worker.on("message", (message: unknown) => {
    if (isMarked(message, word)) onMessage(message.message);
  });
  worker.on("error", (error: unknown) => {
    failure = errorWords(error);
  });
  worker.on("exit", () => onEnd(failure));
  return {
    post: (message) => worker.postMessage(message),
    terminate: () => void worker.terminate(),
  };
}

function isMarked(message: unknown, word: string): message is MarkedMessage {
  if (typeof message !== "object" || message === null || !("word" in message)) return false;
  return message.word === word;
}

/**
 * Loads a policy's file in a thread, once, without a robot, for as long as a host may take to load
 * one. Throws ThreadStartError.
 */
export async function tryPolicyFile(path: string, note: (text: string) => void): Promise<void> {
  const url = new URL("./workers/policy-check.worker.ts", import.meta.url);
  const workerData: PolicyCheckPlan = path;
  const worker = new Worker(url, { workerData, name: "hf-policy-check" });
  try {
    await untilReady(worker, "policy", note, LOAD_NS_MAX / 1e6);
  } finally {
    void worker.terminate();
  }
}

/** The policy thread of a lockstep run, not started yet. */
export function lockstepPolicyThread(run: RunPlan): PolicyThread {
  const url = new URL("./workers/lockstep-policy.worker.ts", import.meta.url);
  return new PolicyThread(run, (plan) => new Worker(url, { workerData: plan, name: "hf-policy" }));
}

/** Starts the thread of `bench tick`. */
export function spawnBenchTick(plan: BenchTickPlan): Worker {
  const url = new URL("./workers/bench-tick.worker.ts", import.meta.url);
  return new Worker(url, { workerData: plan, name: "hf-bench" });
}
