// A file descriptor of a device, opened without waiting: bytes go in and out at once or not at all,
// and only `waitReadable` waits, at most 100 ms. For driver threads: neither reading nor writing
// allocates. A device that vanishes is an answer; one that can't be opened is a DeviceError.

import { ptr } from "bun:ffi";
import { assert } from "../../runtime/contracts/assert.ts";
import { cBuffer, EAGAIN, EINTR, errno, errnoName, libc } from "./libc.ts";

const O_RDONLY = 0;
const O_RDWR = 2;
const O_NOCTTY = 0x100;
const O_NONBLOCK = 0x800;
const O_CLOEXEC = 0x8_0000;
const POLLIN = 1;
const WAIT_MS_MAX = 100;
const READ_BYTES_MAX = 4_096;
const WRITE_BYTES_MAX = 4_096;

/** What a person can do about a reason. */
const HELP: Readonly<Record<string, string>> = {
  EACCES: ': sudo usermod -aG dialout "$USER", then log out and in again',
  EBUSY: ": another program has it",
};

/** What `read` and `write` answer when the device is no longer there. */
export const GONE = -1;

/** A device refuses to be opened or set. */
export class DeviceError extends Error {
  override readonly name = "DeviceError";
  readonly code = "device";
  readonly path: string;
  /** The symbol of the kernel's reason. */
  readonly reason: string;

  constructor(action: string, path: string, reason: string, help = "") {
    super(`Cannot ${action} "${path}": the kernel says ${reason}${help}`);
    this.path = path;
    this.reason = reason;
  }
}

/** Text for C, ended by a zero. */
function cText(text: string): Uint8Array {
  const bytes = new TextEncoder().encode(text);
  const buffer = new Uint8Array(new ArrayBuffer(bytes.length + 64));
  buffer.set(bytes);
  return buffer;
}

export class FileDescriptor {
  readonly path: string;
  readonly fd: number;
  /** What the last `read` got, from its beginning. */
  readonly received = new Uint8Array(new ArrayBuffer(READ_BYTES_MAX));
  readonly #receivedAddress = ptr(this.received);
  readonly #sent = new Uint8Array(new ArrayBuffer(WRITE_BYTES_MAX));
  readonly #sentAddress = ptr(this.#sent);
  readonly #pollFd = cBuffer(8);
  #isOpen = true;

  constructor(path: string, fd: number) {
    assert(fd >= 0, "a file descriptor is open");
    this.path = path;
    this.fd = fd;
  }

  /** Opens a device for reading and writing, without waiting and without becoming its terminal. */
  static open(path: string): FileDescriptor {
    return openAs(path, O_RDWR);
  }

  /** The same, for reading only: a pipe is then gone once it has no writer. */
  static openToRead(path: string): FileDescriptor {
    return openAs(path, O_RDONLY);
  }

  /** Bytes that are there now, in `received`: how many, 0 for none, or GONE. */
  read(): number {
    for (;;) {
      const count = libc.read(this.fd, this.#receivedAddress, READ_BYTES_MAX);
      if (count > 0) return count;
      if (count === 0) return GONE;
      const reason = errno();
      if (reason === EAGAIN) return 0;
      if (reason !== EINTR) return GONE;
    }
  }

  /** Writes the first `count` bytes, as far as the kernel takes them now: how many, or GONE. */
  write(bytes: Uint8Array, count: number): number {
    assert(count <= bytes.length && count <= WRITE_BYTES_MAX, "a write has its bytes");
    for (let at = 0; at < count; at += 1) this.#sent[at] = bytes[at]!;
    for (;;) {
      const taken = libc.write(this.fd, this.#sentAddress, count);
      if (taken >= 0) return taken;
      const reason = errno();
      if (reason === EAGAIN) return 0;
      if (reason !== EINTR) return GONE;
    }
  }

  /** Waits until something can be read. False after `timeoutMs`, which is at most 100. */
  waitReadable(timeoutMs: number): boolean {
    assert(timeoutMs >= 0 && timeoutMs <= WAIT_MS_MAX, "a wait is at most 100 ms");
    this.#pollFd.words[0] = this.fd;
    this.#pollFd.words[1] = POLLIN;
    return libc.poll(this.#pollFd.address, 1, timeoutMs) > 0;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** May be called again. */
  close(): void {
    if (this.#isOpen) libc.close(this.fd);
    this.#isOpen = false;
  }
}

function openAs(path: string, access: number): FileDescriptor {
  const name = cText(path);
  const fd = libc.open(ptr(name), access | O_NOCTTY | O_NONBLOCK | O_CLOEXEC, 0);
  if (fd >= 0) return new FileDescriptor(path, fd);
  const reason = errnoName(errno());
  throw new DeviceError("open", path, reason, HELP[reason]);
}

/** Makes a pipe with a name, which two processes open like a device. */
export function makeFifo(path: string): void {
  const ownerOnly = 0o600;
  const name = cText(path);
  if (libc.mkfifo(ptr(name), ownerOnly) === 0) return;
  throw new DeviceError("make a pipe at", path, errnoName(errno()));
}
