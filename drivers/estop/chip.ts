// What a board needs of an emulated ATmega328P, whichever emulator runs it. Time is the chip's own,
// in cycles of 16 MHz, and stands still unless `runUntil` moves it.

export const CHIP_HZ = 16_000_000;
export const CYCLES_PER_US = CHIP_HZ / 1_000_000;

/** Bits of MCUSR. */
export const ResetFlag = { PowerOn: 1, Pin: 2, BrownOut: 4, Watchdog: 8 } as const;

export type PortName = "B" | "D";

/** Ways to break a chip: its main loop, everything with interrupts off, or the tick interrupt. */
export type Hang = "main" | "all" | "tick";

/** What the board around the chip hears. */
export interface ChipListener {
  /** The outputs on PD4 and PD5 are now these, at a time that may lie before the last one asked. */
  outputsChanged(bits: number, cycles: number): void;
  /** A byte goes to the line from this cycle on. */
  byteSent(byte: number, cycles: number): void;
}

export interface Chip {
  readonly cycleCount: number;
  /** Resets by the watchdog so far. */
  readonly watchdogCount: number;
  runUntil(cycles: number): void;
  /** Ties a pin to ground, or lets it float. */
  ground(port: PortName, pin: number, isTied: boolean): void;
  /** Hands the chip a byte whose last bit passes at this cycle; later ones come later. */
  receiveAt(byte: number, cycles: number): void;
  /** A reset from outside, with these bits of MCUSR. */
  reset(flags: number): void;
  hang(kind: Hang): void;
  /** Takes back what a hang did to the flash. */
  cure(): void;
  close(): void;
}

export type MakeChip = (listener: ChipListener) => Chip;
