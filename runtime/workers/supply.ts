// Supply: the power of simulated drives, as the two outputs of an emulated e-stop switch it. It
// comes by a pipe straight from the emulator, outside the control thread; an emulator that is gone
// has its outputs open, as a chip without power has.
//
// A byte that no board sends is not the board's: from then on nothing on that pipe gives power.

import { enableOutputs, NO_ENABLE } from "../../drivers/estop/enable-line.ts";
import { FileDescriptor, GONE } from "../../hal/ffi/file-descriptor.ts";
import { EstopOutput } from "../contracts/estop-codes.ts";

/** What is wrong with the pipe. Only a new run opens another one. */
export const SupplyTrouble = {
  None: 0,
  /** Nobody holds its other end. */
  Gone: 1,
  /** It said what no board says. */
  Garbage: 2,
} as const;
export type SupplyTrouble = (typeof SupplyTrouble)[keyof typeof SupplyTrouble];

/** What a person is told, by code. */
export const supplyTroubleTexts = [
  "",
  "nobody holds its other end",
  "it said what no board says",
] as const;

export class Supply {
  /** Both outputs are closed. */
  hasPower = false;
  trouble: SupplyTrouble = SupplyTrouble.None;
  readonly #pipe: FileDescriptor;

  /** `enablePath` is the pipe: each byte in it is the outputs from then on. */
  constructor(enablePath: string) {
    this.#pipe = FileDescriptor.openToRead(enablePath);
  }

  /** Takes what came. True when the power changed; a cut that was already over counts too. */
  take(): boolean {
    const count = this.#pipe.read();
    const before = this.hasPower;
    let wasCut = false;
    for (let at = 0; at < count; at += 1) {
      const outputs = enableOutputs(this.#pipe.received[at]!);
      if (outputs === NO_ENABLE) this.trouble = SupplyTrouble.Garbage;
      this.hasPower = outputs === EstopOutput.Both;
      wasCut ||= !this.hasPower;
    }
    if (count === GONE && this.trouble === SupplyTrouble.None) this.trouble = SupplyTrouble.Gone;
    if (this.trouble !== SupplyTrouble.None) this.hasPower = false;
    return this.hasPower !== before || (before && wasCut);
  }
}
