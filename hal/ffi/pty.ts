// A pseudo-terminal for emulators: one end here, the other a path that any program opens as a
// serial line. This end keeps the other open too, so that it stays alive between two openers.

import { DeviceError, FileDescriptor } from "./file-descriptor.ts";
import { cBuffer, errno, errnoName, libc } from "./libc.ts";
import { openSerial } from "./serial.ts";

const O_RDWR_NOCTTY_NONBLOCK_CLOEXEC = 2 | 0x100 | 0x800 | 0x8_0000;
const NAME_SIZE_BYTES = 128;
const ANY_BAUD = 115_200;

export class Pty {
  readonly device: FileDescriptor;
  /** What the other side opens. */
  readonly path: string;
  readonly #keeper: FileDescriptor;

  constructor() {
    const fd = libc.posix_openpt(O_RDWR_NOCTTY_NONBLOCK_CLOEXEC);
    if (fd < 0) throw new DeviceError("open", "/dev/ptmx", errnoName(errno()));
    this.device = new FileDescriptor("/dev/ptmx", fd);
    if (libc.grantpt(fd) !== 0 || libc.unlockpt(fd) !== 0) {
      throw new DeviceError("unlock", "/dev/ptmx", errnoName(errno()));
    }
    const name = cBuffer(NAME_SIZE_BYTES);
    if (libc.ptsname_r(fd, name.address, NAME_SIZE_BYTES) !== 0) {
      throw new DeviceError("name", "/dev/ptmx", errnoName(errno()));
    }
    const bytes = new Uint8Array(name.words.buffer);
    this.path = new TextDecoder().decode(bytes.subarray(0, bytes.indexOf(0)));
    openSerial(this.path, ANY_BAUD).close(); // raw from the start, and free for its opener
    this.#keeper = FileDescriptor.open(this.path);
  }

  close(): void {
    this.#keeper.close();
    this.device.close();
  }
}
