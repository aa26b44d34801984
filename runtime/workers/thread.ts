// What every Worker entry does alike: attach to the arena, say ready, run when told to go, and
// leave its state in shared memory however the loop ends. Nothing is sent to a Worker after `go`.

import { isMainThread, parentPort, workerData } from "node:worker_threads";
import { nameThread, setFifo } from "../../hal/ffi/scheduling.ts";
import type { Scene } from "../../hal/mujoco/scene.ts";
import type { Grant } from "../../hal/ffi/scheduling.ts";
import { assert } from "../contracts/assert.ts";
import { Arena } from "../shm/arena.ts";
import { ControlWords, ThreadState } from "../shm/control-words.ts";
import type { ThreadSlot } from "../shm/control-words.ts";
import type { WorkerPlan } from "./plan.ts";

/** Messages from a Worker to main. */
export type WorkerMessage =
  | { readonly kind: "ready"; readonly scene: Scene | undefined }
  | { readonly kind: "running"; readonly granted: boolean; readonly refusal: string }
  | { readonly kind: "policy"; readonly name: string }
  | { readonly kind: "trouble"; readonly text: string }
  | { readonly kind: "note"; readonly text: string };

/** A policy shares its thread's port and may post anything: only messages of ours count. */
export function isWorkerMessage(message: unknown): message is WorkerMessage {
  if (typeof message !== "object" || message === null || !("kind" in message)) return false;
  return ["ready", "running", "policy", "trouble", "note"].includes(String(message.kind));
}

export type Thread = {
  readonly plan: WorkerPlan;
  readonly arena: Arena;
  readonly words: ControlWords;
};

/** How long what a library left open may keep a thread whose loop has ended. */
const LINGER_MS = 300;

const NORMAL: Grant = { granted: true, refusal: "" };

/** Attaches to what main handed over. */
export function attach(): Thread {
  assert(!isMainThread, "a Worker entry runs in a Worker");
  const plan = workerData as WorkerPlan;
  const arena = new Arena(plan.arena);
  return { plan, arena, words: new ControlWords(arena.words("control")) };
}

/** Tells a person something that is no fault. Never from the tick. */
export function note(text: string): void {
  post({ kind: "note", text });
}

/** Tells main why the policy decides nothing; empty once it decides. Never from the tick. */
export function tellTrouble(text: string): void {
  post({ kind: "trouble", text });
}

/** Tells main the policy's own name, before `runWhenTold` says ready. */
export function tellPolicyName(name: string): void {
  post({ kind: "policy", name });
}

/**
 * Runs `loop` when main says go. `fifoPriority` 0 keeps the normal scheduler; `scene` goes to the
 * camera.
 */
export function runWhenTold(
  thread: Thread,
  slot: ThreadSlot,
  name: string,
  fifoPriority: number,
  loop: () => void | Promise<void>,
  scene?: Scene,
): void {
  nameThread(name);
  const port = parentPort;
  assert(port !== null, "a Worker has a port to main");
  port.once("message", () => {
    const grant = fifoPriority > 0 ? setFifo(fifoPriority) : NORMAL;
    post({ kind: "running", granted: grant.granted, refusal: grant.refusal });
    thread.words.setState(slot, ThreadState.running);
    let state: ThreadState = ThreadState.crashed;
    const end = (): void => thread.words.setState(slot, state);
    try {
      const pending = loop();
      if (pending instanceof Promise) {
        // A rejection must reach main's `error` event, so it is thrown again from a task.
        pending
          .then(() => {
            state = ThreadState.stopped;
          })
          .catch((error: unknown) => {
            setImmediate(() => {
              throw error;
            });
          })
          .finally(() => {
            end();
            port.close();
            // A library may keep a socket or a timer; in a Worker this ends the Worker alone.
            setTimeout(() => process.exit(), LINGER_MS).unref();
          });
        return;
      }
      state = ThreadState.stopped;
    } finally {
      end();
    }
    port.close();
  });
  thread.words.setState(slot, ThreadState.ready);
  post({ kind: "ready", scene });
}

function post(message: WorkerMessage): void {
  parentPort?.postMessage(message);
}
