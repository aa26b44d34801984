// Real-time rights of the calling thread and the process: priority, affinity, name, memory lock.
// A right that is not granted is an answer with the kernel's reason, never an exception: the caller
// refuses to arm, or warns. Only the declared threads may ask for a real-time priority.

import { assert } from "../../runtime/contracts/assert.ts";
import { cBuffer, errno, errnoName, libc } from "./libc.ts";

const SCHED_OTHER = 0;
const SCHED_FIFO = 1;
// Without it JavaScriptCore's compiler threads, made later, would inherit the priority.
const SCHED_RESET_ON_FORK = 0x40000000;
// MCL_CURRENT | MCL_ONFAULT. With MCL_FUTURE any later WebAssembly memory would end the process,
// and without MCL_ONFAULT gigabytes of reserved address space would become resident.
const LOCK_FLAGS = 5;
const PR_SET_NAME = 15;
const RLIMIT_MEMLOCK = 8;
const RLIMIT_RTPRIO = 14;
const THREAD_NAME_LENGTH_MAX = 15;
const AFFINITY_SIZE_BYTES = 128; // 1,024 CPUs, the size of glibc's cpu_set_t
const CALLING_THREAD = 0;

/** What the kernel said: granted, or the symbol of its reason, such as EPERM. */
export type Grant = { readonly granted: boolean; readonly refusal: string };

/** Gives the calling thread SCHED_FIFO at `priority`, 1 to 99. Not for use in the tick. */
export function setFifo(priority: number): Grant {
  assert(Number.isInteger(priority) && priority >= 1 && priority <= 99, "FIFO priority is 1 to 99");
  return setPolicy(SCHED_FIFO | SCHED_RESET_ON_FORK, priority);
}

/** Takes the calling thread back to normal scheduling. Always granted to a thread that is FIFO. */
export function setNormal(): Grant {
  return setPolicy(SCHED_OTHER | SCHED_RESET_ON_FORK, 0); // only root may clear the flag
}

/** True while the calling thread is SCHED_FIFO. */
export function isFifo(): boolean {
  return (libc.sched_getscheduler(CALLING_THREAD) & ~SCHED_RESET_ON_FORK) === SCHED_FIFO;
}

/** Real-time priority of the calling thread; 0 for a normal one. */
export function threadPriority(): number {
  const parameter = cBuffer(4);
  assert(libc.sched_getparam(CALLING_THREAD, parameter.address) === 0, "a thread has a priority");
  return parameter.words[0]!;
}

/** Pins the calling thread to the CPUs named by number. */
export function setAffinity(cpus: readonly number[]): Grant {
  const mask = cBuffer(AFFINITY_SIZE_BYTES);
  for (const cpu of cpus) {
    const isCpu = Number.isInteger(cpu) && cpu >= 0 && cpu < AFFINITY_SIZE_BYTES * 8;
    assert(isCpu, "a CPU number is 0 to 1023");
    const word = cpu >> 5;
    mask.words[word] = mask.words[word]! | (1 << (cpu & 31));
  }
  return granted(libc.sched_setaffinity(CALLING_THREAD, AFFINITY_SIZE_BYTES, mask.address));
}

/** Names the calling thread as `ps -L` and `/proc` show it: 1 to 15 ASCII characters. */
export function nameThread(name: string): void {
  assert(/^[\x21-\x7e]{1,15}$/.test(name), "a thread name is 1 to 15 printable characters");
  const bytes = cBuffer(THREAD_NAME_LENGTH_MAX + 1);
  new TextEncoder().encodeInto(name, new Uint8Array(bytes.words.buffer));
  assert(libc.prctl(PR_SET_NAME, bytes.address, 0, 0, 0) === 0, "the kernel takes a thread name");
}

/** The kernel's number of the calling thread, as in `/proc/self/task`. */
export function threadId(): number {
  return libc.gettid();
}

/**
 * Locks what the process has in memory. Call it from the main thread once every Worker is ready.
 * While the lock holds, freed memory is not given back: RSS stays at its high-water mark.
 */
export function lockMemory(): Grant {
  return granted(libc.mlockall(LOCK_FLAGS));
}

export function unlockMemory(): void {
  assert(libc.munlockall() === 0, "unlocking needs no right");
}

/** The soft memlock limit in bytes; Infinity when there is none. */
export function memlockSizeBytesMax(): number {
  return softLimit(RLIMIT_MEMLOCK);
}

/** The highest real-time priority a plain user may ask for; 0 when none. */
export function realtimePriorityMax(): number {
  return softLimit(RLIMIT_RTPRIO);
}

function setPolicy(policy: number, priority: number): Grant {
  const parameter = cBuffer(4);
  parameter.words[0] = priority;
  return granted(libc.sched_setscheduler(CALLING_THREAD, policy, parameter.address));
}

function granted(answer: number): Grant {
  if (answer === 0) return { granted: true, refusal: "" };
  return { granted: false, refusal: errnoName(errno()) };
}

function softLimit(resource: number): number {
  const limits = cBuffer(16);
  assert(libc.getrlimit(resource, limits.address) === 0, "the kernel knows the limit");
  const low = limits.words[0]! >>> 0;
  const high = limits.words[1]! >>> 0;
  return high === 0xffffffff && low === 0xffffffff ? Infinity : high * 2 ** 32 + low;
}
