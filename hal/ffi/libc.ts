// The C library, opened once per thread when this module loads: time, scheduling, memory locking,
// polling, devices. Only the symbols live here; the files beside it give them meaning.
// Import it before the control loop, and never from two Workers at the same moment. No callbacks.
//
// Memory rule for every user: allocate an ArrayBuffer, cut a view over it, then take `ptr(view)`,
// and keep the view in a field. An array with its own storage moves when `.buffer` is read later.

import { dlopen, ptr, read } from "bun:ffi";
import type { Pointer } from "bun:ffi";

const library = dlopen("libc.so.6", {
  clock_gettime: { args: ["i32", "ptr"], returns: "i32" },
  clock_nanosleep: { args: ["i32", "i32", "ptr", "ptr"], returns: "i32" },
  sched_setscheduler: { args: ["i32", "i32", "ptr"], returns: "i32" },
  sched_getscheduler: { args: ["i32"], returns: "i32" },
  sched_getparam: { args: ["i32", "ptr"], returns: "i32" },
  sched_setaffinity: { args: ["i32", "usize", "ptr"], returns: "i32" },
  mlockall: { args: ["i32"], returns: "i32" },
  munlockall: { args: [], returns: "i32" },
  prctl: { args: ["i32", "usize", "usize", "usize", "usize"], returns: "i32" },
  gettid: { args: [], returns: "i32" },
  getrlimit: { args: ["i32", "ptr"], returns: "i32" },
  open: { args: ["ptr", "i32", "i32"], returns: "i32" },
  close: { args: ["i32"], returns: "i32" },
  read: { args: ["i32", "ptr", "usize"], returns: "i32" },
  write: { args: ["i32", "ptr", "usize"], returns: "i32" },
  poll: { args: ["ptr", "usize", "i32"], returns: "i32" },
  ioctl: { args: ["i32", "usize", "ptr"], returns: "i32" },
  flock: { args: ["i32", "i32"], returns: "i32" },
  mkfifo: { args: ["ptr", "i32"], returns: "i32" },
  posix_openpt: { args: ["i32"], returns: "i32" },
  grantpt: { args: ["i32"], returns: "i32" },
  unlockpt: { args: ["i32"], returns: "i32" },
  ptsname_r: { args: ["i32", "ptr", "usize"], returns: "i32" },
  __errno_location: { args: [], returns: "ptr" },
});

export const libc = library.symbols;

const errnoAddress = libc.__errno_location() as Pointer;

/** The calling thread's errno. Ask at once after the call that failed, before any other. */
export function errno(): number {
  return read.i32(errnoAddress, 0);
}

export const EINTR = 4;
export const EAGAIN = 11;

const ERRNO_NAMES: Readonly<Record<number, string>> = {
  1: "EPERM",
  2: "ENOENT",
  3: "ESRCH",
  4: "EINTR",
  5: "EIO",
  6: "ENXIO",
  11: "EAGAIN",
  12: "ENOMEM",
  13: "EACCES",
  14: "EFAULT",
  16: "EBUSY",
  17: "EEXIST",
  19: "ENODEV",
  21: "EISDIR",
  22: "EINVAL",
  25: "ENOTTY",
  32: "EPIPE",
  38: "ENOSYS",
};

/** The symbol of an errno value, or `errno N` for one that these calls do not give. */
export function errnoName(value: number): string {
  return ERRNO_NAMES[value] ?? `errno ${value}`;
}

/** Memory that C reads or writes: words that stay where they are, and their address. */
export type CBuffer = { readonly words: Int32Array; readonly address: Pointer };

// A struct a little larger than expected must not reach the heap behind the buffer.
const C_BUFFER_SIZE_BYTES_MIN = 64;

/** Allocates zeroed memory for C. Keep the result for as long as C may touch it. */
export function cBuffer(sizeBytes: number): CBuffer {
  const buffer = new ArrayBuffer(Math.max(sizeBytes, C_BUFFER_SIZE_BYTES_MIN));
  const words = new Int32Array(buffer);
  return { words, address: ptr(words) };
}
