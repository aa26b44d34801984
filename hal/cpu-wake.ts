// CpuWake: while it is held, the kernel lets no CPU into an idle state that takes time to leave, so
// a thread that sleeps until its tick wakes as early as the timer fires. The kernel forgets the
// wish when the file is closed, however the process ends (its power/pm_qos_interface).
//
// It costs power: a CPU with nothing to do polls. So it is held from the first tick to the last.

import { closeSync, openSync, writeSync } from "node:fs";
import type { Grant } from "./ffi/scheduling.ts";

const DEVICE = "/dev/cpu_dma_latency";
/** A 32-bit number of microseconds that leaving idle may take. */
const NO_LATENCY = new Uint8Array(4);

export class CpuWake {
  readonly grant: Grant;
  #fd: number | undefined;

  /** A refusal is an answer: without the right to it, ticks come a little later. */
  constructor(path: string = DEVICE) {
    try {
      this.#fd = openSync(path, "r+");
      writeSync(this.#fd, NO_LATENCY);
      this.grant = { granted: true, refusal: "" };
    } catch (error) {
      this.release();
      this.grant = { granted: false, refusal: (error as NodeJS.ErrnoException).code ?? "unknown" };
    }
  }

  /** May be called again. */
  release(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }
}
