// Supply: the power of simulated drives, as the two outputs of an emulated e-stop switch it. It
// comes by a pipe straight from the emulator, outside the control thread; an emulator that is gone
// has its outputs open, as a chip without power has.

import { FileDescriptor, GONE } from "../../hal/ffi/file-descriptor.ts";
import { EstopOutput } from "../contracts/estop-codes.ts";

export class Supply {
  /** Both outputs are closed. */
  hasPower = false;
  readonly #pipe: FileDescriptor;

  /** `enablePath` is the pipe: each byte in it is the outputs from then on. */
  constructor(enablePath: string) {
    this.#pipe = FileDescriptor.openToRead(enablePath);
  }

  /** Takes what came. True when the power changed; a cut that was already over counts too. */
  take(): boolean {
    const count = this.#pipe.read();
    const before = this.hasPower;
    if (count === GONE) this.hasPower = false;
    let wasCut = false;
    for (let at = 0; at < count; at += 1) {
      this.hasPower = this.#pipe.received[at] === EstopOutput.Both;
      wasCut ||= !this.hasPower;
    }
    return this.hasPower !== before || (before && wasCut);
  }
}
