// Serial lines and pseudo-terminals against the kernel: bytes both ways unchanged, any baud, one
// opener, and every way in which a device can be missing or vanish, by name.

import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FileDescriptor, GONE, makeFifo } from "./file-descriptor.ts";
import { cBuffer, libc } from "./libc.ts";
import { Pty } from "./pty.ts";
import { baudOf, openSerial, setDtr } from "./serial.ts";

/** Whether a terminal is claimed, as the kernel says. */
const TIOCGEXCL = 0x8004_5440;

const root = mkdtempSync(join(tmpdir(), "holdfast-serial-"));
afterAll(() => rmSync(root, { recursive: true }));

/** What can be read within 100 ms, at least `count` bytes. */
function readAll(from: FileDescriptor, count: number): number[] {
  const bytes: number[] = [];
  while (bytes.length < count && from.waitReadable(100)) {
    bytes.push(...from.received.slice(0, Math.max(0, from.read())));
  }
  return bytes;
}

test("every byte passes both ways as it is", () => {
  const pty = new Pty();
  const line = openSerial(pty.path, 500_000);
  const all = Uint8Array.from({ length: 256 }, (_, at) => at);
  expect(line.write(all, 256)).toBe(256);
  expect(readAll(pty.device, 256)).toEqual([...all]);
  expect(pty.device.write(all, 256)).toBe(256);
  expect(readAll(line, 256)).toEqual([...all]);
  line.close();
  pty.close();
});

test("an empty line reads as nothing at once, and a wait ends", () => {
  const pty = new Pty();
  const line = openSerial(pty.path, 500_000);
  expect([line.read(), line.waitReadable(1), pty.device.read()]).toEqual([0, false, 0]);
  expect(() => line.waitReadable(101)).toThrow("a wait is at most 100 ms");
  line.close();
  pty.close();
});

test("any baud is kept by the kernel, and nonsense is refused", () => {
  const pty = new Pty();
  for (const baud of [57_600, 500_000, 1_234_567]) {
    const line = openSerial(pty.path, baud);
    expect(baudOf(line)).toBe(baud);
    line.close();
  }
  expect(() => openSerial(pty.path, 0)).toThrow(`Cannot set 0 baud on "${pty.path}"`);
  expect(() => openSerial(pty.path, 9_600.5)).toThrow("Cannot set 9600.5 baud");
  pty.close();
});

test("a second opener is refused, and may come once the first has closed", () => {
  const pty = new Pty();
  const first = openSerial(pty.path, 500_000);
  expect(() => openSerial(pty.path, 500_000)).toThrow("another program has it");
  first.close();
  first.close();
  openSerial(pty.path, 500_000).close();
  pty.close();
});

test("a line that was closed is claimed by nobody, though its other end lives on", () => {
  const pty = new Pty();
  const look = FileDescriptor.open(pty.path);
  const claim = cBuffer(4);
  const claimed = (): number => {
    expect(libc.ioctl(look.fd, TIOCGEXCL, claim.address)).toBe(0);
    return claim.words[0]!;
  };
  expect(claimed()).toBe(0); // or only root could open what an emulator offers
  const line = openSerial(pty.path, 500_000);
  expect(claimed()).toBe(1);
  line.close();
  expect(claimed()).toBe(0);
  look.close();
  pty.close();
});

test("what waited before the line was opened is not heard", () => {
  const pty = new Pty();
  pty.device.write(Uint8Array.of(1, 2, 3), 3);
  const line = openSerial(pty.path, 500_000);
  expect(line.waitReadable(10)).toBe(false);
  line.close();
  pty.close();
});

test("a line whose device vanishes says so when it is read", () => {
  const pty = new Pty();
  const line = openSerial(pty.path, 500_000);
  pty.close();
  expect([line.read(), line.write(Uint8Array.of(1), 1)]).toEqual([GONE, GONE]);
  line.close();
});

test("what is no serial line is refused by name", () => {
  const missing = join(root, "none");
  const file = join(root, "file");
  writeFileSync(file, "");
  expect(() => openSerial(missing, 500_000)).toThrow(
    `Cannot open "${missing}": the kernel says ENOENT`,
  );
  expect(() => openSerial(file, 500_000)).toThrow(`Cannot claim "${file}": the kernel says ENOTTY`);
  const pty = new Pty();
  const line = openSerial(pty.path, 500_000);
  expect(() => setDtr(line, true)).toThrow(`Cannot set DTR of "${pty.path}"`);
  line.close();
  pty.close();
});

test("a port that this user may not open says how to get the right", () => {
  const closed = join(root, "closed");
  writeFileSync(closed, "", { mode: 0 });
  const isRoot = process.getuid!() === 0;
  if (isRoot) process.seteuid!(65_534); // root may open everything
  try {
    expect(() => openSerial(closed, 500_000)).toThrow(
      'the kernel says EACCES: sudo usermod -aG dialout "$USER", then log out and in again',
    );
  } finally {
    if (isRoot) process.seteuid!(0);
  }
});

test("a named pipe carries bytes, is empty while it has a writer, and gone without", () => {
  const path = join(root, "pipe");
  makeFifo(path);
  expect(statSync(path).isFIFO()).toBe(true);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(() => makeFifo(path)).toThrow("the kernel says EEXIST");
  const writer = FileDescriptor.open(path);
  const reader = FileDescriptor.openToRead(path);
  expect(reader.read()).toBe(0);
  writer.write(Uint8Array.of(3, 0), 2);
  expect([reader.read(), ...reader.received.subarray(0, 2)]).toEqual([2, 3, 0]);
  writer.close();
  expect(reader.read()).toBe(GONE);
  reader.close();
});
