// Serial lines: exclusive, raw, eight bits, no parity, one stop bit, at any baud. Opening clears
// HUPCL, so that closing drops no modem line and resets no board; what waited before is thrown
// away. A second opener is refused by name, also when both are root. Linux only.

import type { Pointer } from "bun:ffi";
import { cBuffer, errno, errnoName, libc } from "./libc.ts";
import { DeviceError, FileDescriptor } from "./file-descriptor.ts";

const TCGETS2 = 0x802c_542a;
const TCSETS2 = 0x402c_542b;
const TIOCEXCL = 0x540c;
const TIOCNXCL = 0x540d;
const TCFLSH = 0x540b;
const TIOCMBIS = 0x5416;
const TIOCMBIC = 0x5417;
const TIOCM_DTR = 2;
const BOTH_QUEUES = 2;
const LOCK_EXCLUSIVE_NOW = 2 | 4;
// struct termios2: four words of flags, the line discipline and 19 control characters, two speeds.
const TERMIOS2_SIZE_BYTES = 44;
const CFLAG_WORD = 2;
const CC_BYTE = 17;
const VTIME = 5;
const VMIN = 6;
const INPUT_SPEED_WORD = 9;
const OUTPUT_SPEED_WORD = 10;
const CFLAG_RAW_8N1 = 0x30 | 0x80 | 0x800; // CS8, CREAD, CLOCAL; neither HUPCL nor CRTSCTS
const BOTHER = 0x1000;
const BAUD_MAX = 4_000_000;

/** Closing gives the claim back: a pseudo-terminal would keep it while its other end is open. */
class SerialLine extends FileDescriptor {
  override close(): void {
    if (this.isOpen) libc.ioctl(this.fd, TIOCNXCL, 0 as Pointer);
    super.close();
  }
}

/** Opens a serial line for this process alone. */
export function openSerial(path: string, baud: number): FileDescriptor {
  if (!Number.isInteger(baud) || baud < 1 || baud > BAUD_MAX) {
    throw new DeviceError(`set ${baud} baud on`, path, "EINVAL");
  }
  const line = new SerialLine(path, FileDescriptor.open(path).fd);
  try {
    if (libc.flock(line.fd, LOCK_EXCLUSIVE_NOW) !== 0) {
      throw new DeviceError("open", path, "EBUSY", ": another program has it");
    }
    control(line, "claim", TIOCEXCL, 0);
    setRaw(line, baud);
    control(line, "empty", TCFLSH, BOTH_QUEUES);
  } catch (error) {
    line.close();
    throw error;
  }
  return line;
}

/** Raises or drops DTR, which resets many boards. A line without modem signals is refused. */
export function setDtr(line: FileDescriptor, isRaised: boolean): void {
  const bits = cBuffer(4);
  bits.words[0] = TIOCM_DTR;
  control(line, "set DTR of", isRaised ? TIOCMBIS : TIOCMBIC, bits.address);
}

/** The baud that the kernel keeps for this line. */
export function baudOf(line: FileDescriptor): number {
  const termios = cBuffer(TERMIOS2_SIZE_BYTES);
  control(line, "read the settings of", TCGETS2, termios.address);
  return termios.words[OUTPUT_SPEED_WORD]! >>> 0;
}

function setRaw(line: FileDescriptor, baud: number): void {
  const termios = cBuffer(TERMIOS2_SIZE_BYTES);
  const { words } = termios;
  const characters = new Uint8Array(words.buffer);
  words[CFLAG_WORD] = CFLAG_RAW_8N1 | BOTHER;
  characters[CC_BYTE + VTIME] = 0;
  characters[CC_BYTE + VMIN] = 1; // nothing there is then EAGAIN, and only a dead line reads as 0
  words[INPUT_SPEED_WORD] = baud;
  words[OUTPUT_SPEED_WORD] = baud;
  control(line, "set the line of", TCSETS2, termios.address);
  const found = baudOf(line);
  if (found === baud) return;
  throw new DeviceError(`set ${baud} baud on`, line.path, "EINVAL", `: it stays at ${found}`);
}

/** `argument` is an address, or the small number that this request takes in its place. */
function control(
  line: FileDescriptor,
  act: string,
  request: number,
  argument: Pointer | number,
): void {
  if (libc.ioctl(line.fd, request, argument as Pointer) === 0) return;
  throw new DeviceError(act, line.path, errnoName(errno()));
}
