// FlightWatch: the last ticks of a run, written down once when it latches, or when its control
// thread dies. Both kinds of run feed it; what becomes of the file is told, and fails no run.

import { Mode } from "../contracts/mode.ts";
import { TickSlot, tickSlotCount } from "../contracts/tick-record.ts";
import { FlightRecorder } from "../core/flight-recorder.ts";
import { dumpFlight, flightFolder } from "./flight-dump.ts";
import type { RunOptions } from "./run-options.ts";

/** Ticks kept for a dump: two seconds at 200 Hz. */
const FLIGHT_TICKS = 400;

export class FlightWatch {
  readonly #options: RunOptions;
  readonly #note: (text: string) => void;
  readonly #recorder: FlightRecorder;
  #mode: number = Mode.Starting;

  constructor(options: RunOptions, note: (text: string) => void) {
    const size = tickSlotCount(options.plan.robot.joints.length);
    this.#options = options;
    this.#note = note;
    this.#recorder = new FlightRecorder(FLIGHT_TICKS, size);
  }

  /** The record of a tick that is over: it may write a file. */
  see(record: Float64Array): void {
    this.#recorder.write(record);
    const mode = record[TickSlot.mode]!;
    if (mode === Mode.FaultLatched && this.#mode !== mode) this.dump("latched");
    this.#mode = mode;
  }

  dump(why: string): void {
    try {
      const path = dumpFlight(flightFolder(Bun.env), this.#options, why, this.#recorder);
      this.#note(`the last ticks are in ${path}`);
    } catch (error) {
      this.#note(`Cannot write the last ticks: ${String(error)}`);
    }
  }
}
