// An RP2040 in this process, by rp2040js, with what the emulator leaves out: bytes take their time
// on the line both ways, the watchdog resets the chip, a reset says why it came, floating inputs
// follow their pulls, and the ring oscillator is noisy. There is no boot ROM: the second boot stage
// runs where it lies in flash. A register that the emulator doesn't know ends the test, and so do a
// baud, a tick of the timer and a reach of the watchdog that it takes without a look.
//
// It is the same `Chip` to a board as an ATmega328P, so pins go by that chip's names and time by
// cycles of 16 MHz.

import { GPIOPinState, Simulator } from "rp2040js";
import type { Chip, ChipListener, Hang, PortName } from "../drivers/estop/chip.ts";
import { CYCLES_PER_US, ResetFlag } from "../drivers/estop/chip.ts";
import { BYTE_US } from "./estop-bench.ts";

const ROSC = 0x40060;
const CHIP_RESET = 0x40064;
const WATCHDOG = 0x40058;
const WATCHDOG_CTRL = 0;
const WATCHDOG_TICK = 0x2c;
const PSM = 0x40010;
const PSM_WDSEL = 8;
const ALL_BUT_OSCILLATORS = 0x1_fffc;
const LINE_BAUD = 500_000;
const TIMER = 0x40054;
const TIMER_INTE = 0x38;
const CHIP_RESET_AT = 8;
const ROSC_RANDOM_BIT_AT = 0x1c;
const BOOT_STAGE_AT = 0x1000_0000;
const SRAM_AT = 0x2000_0000;
const BRANCH_TO_SELF = 0xe7fe;
const RING_OSCILLATOR_HZ = 6_500_000;
const OUTPUT_PINS = [2, 3];
const INPUT_PINS: Readonly<Record<string, number>> = {
  B0: 6,
  B1: 7,
  B2: 8,
  B3: 9,
  D6: 4,
  D7: 5,
};
/** Bits of the register that says which reset came; a brown-out looks like power. */
const HAD_POWER = 1 << 8;
const HAD_RUN_PIN = 1 << 16;
const UNTOUCHED = 0xa5;
const NS_PER_CYCLE = 1_000 / CYCLES_PER_US;

type Register = { readUint32(offset: number): number };
type Watchdog = {
  reason: number;
  onWatchdogTrigger: () => void;
  writeUint32(offset: number, value: number): void;
};

export class Rp2040Chip implements Chip {
  watchdogCount = 0;
  /** Bytes that found the receiver's 32 places taken. */
  overrunCount = 0;
  readonly #listener: ChipListener;
  readonly #grounded = new Set<number>();
  #clock: Simulator["clock"];
  #mcu: Simulator["rp2040"];
  #bootCycles = 0;
  #resetDue = false;
  #lineFreeCycles = 0;
  #noise = 0x1234_5678;
  readonly #bytesDue: { readonly cycles: number; readonly byte: number }[] = [];

  constructor(image: Uint8Array, listener: ChipListener) {
    this.#listener = listener;
    ({ clock: this.#clock, rp2040: this.#mcu } = this.#boot(ResetFlag.PowerOn, image));
  }

  get cycleCount(): number {
    return this.#bootCycles + this.#clock.nanos / NS_PER_CYCLE;
  }

  /** The longest run of SRAM that nothing has written: what lies between data and stack. */
  get untouchedCount(): number {
    let longest = 0;
    let run = 0;
    for (const byte of this.#mcu.sram.subarray(0, 0x4_0000)) {
      run = byte === UNTOUCHED ? run + 1 : 0;
      longest = Math.max(longest, run);
    }
    return longest;
  }

  runUntil(untilCycles: number): void {
    while (this.cycleCount < untilCycles) {
      const due = this.#bytesDue[0];
      const stop = Math.min(untilCycles, due?.cycles ?? untilCycles);
      this.#runUntil(stop);
      if (due !== undefined && this.cycleCount >= due.cycles) this.#deliver();
    }
  }

  ground(port: PortName, pin: number, isTied: boolean): void {
    const number = INPUT_PINS[`${port}${pin}`]!;
    if (isTied) this.#grounded.add(number);
    else this.#grounded.delete(number);
    this.#settlePin(number);
  }

  receiveAt(byte: number, cycles: number): void {
    this.#bytesDue.push({ byte, cycles });
  }

  reset(flags: number): void {
    this.#restart(flags);
  }

  hang(kind: Hang): void {
    const { core, peripherals } = this.#mcu;
    if (kind === "tick") {
      peripherals[TIMER]!.writeUint32(TIMER_INTE, 0);
      return;
    }
    while (core.waiting || core.IPSR !== 0) this.#step(Number.POSITIVE_INFINITY);
    this.#mcu.sramView.setUint16(core.PC - SRAM_AT, BRANCH_TO_SELF, true);
    if (kind === "all") core.PM = true;
  }

  /** The start brings the code to SRAM anew. */
  cure(): void {}

  close(): void {}

  #deliver(): void {
    const { byte } = this.#bytesDue.shift()!;
    const [uart] = this.#mcu.uart;
    if ((uart!.readUint32(0x18) & 0x40) !== 0) this.overrunCount += 1;
    uart!.feedByte(byte);
  }

  #runUntil(stop: number): void {
    while (this.cycleCount < stop) {
      this.#step(stop);
      if (!this.#resetDue) continue;
      this.#restart(ResetFlag.Watchdog);
      return;
    }
  }

  #step(stop: number): void {
    const { core, clkSys } = this.#mcu;
    if (core.waiting) {
      const leftNs = (stop - this.cycleCount) * NS_PER_CYCLE;
      this.#clock.tick(Math.min(this.#clock.nanosToNextAlarm, leftNs));
    } else {
      this.#clock.tick((core.executeInstruction() * 1e9) / clkSys);
    }
  }

  #restart(flags: number): void {
    if (flags === ResetFlag.Watchdog) this.watchdogCount += 1;
    this.#bootCycles = this.cycleCount;
    const { flash, sram } = this.#mcu;
    ({ clock: this.#clock, rp2040: this.#mcu } = this.#boot(flags, flash, sram));
    this.#tellOutputs();
  }

  /** A new chip; flash and SRAM are those of the one before. */
  #boot(flags: number, flash: Uint8Array, sram?: Uint8Array): Simulator {
    const simulator = new Simulator();
    const mcu = simulator.rp2040;
    mcu.logger = { debug: ignore, info: ignore, warn: refuse, error: refuse };
    mcu.clkSys = RING_OSCILLATOR_HZ;
    mcu.flash.set(flash);
    mcu.sram.set(sram ?? new Uint8Array(mcu.sram.length).fill(UNTOUCHED));
    this.#resetDue = false;
    this.#replaceRegisters(mcu, flags);
    mcu.uart[0]!.onByte = (byte) => this.#send(byte);
    for (const pin of OUTPUT_PINS) mcu.gpio[pin]!.addListener(() => this.#tellOutputs());
    for (const pin of Object.values(INPUT_PINS)) {
      mcu.gpio[pin]!.addListener(() => this.#settlePin(pin));
    }
    mcu.core.PC = BOOT_STAGE_AT;
    return simulator;
  }

  #replaceRegisters(mcu: Simulator["rp2040"], flags: number): void {
    const isWatchdog = (flags & ResetFlag.Watchdog) !== 0;
    const why = (flags & ResetFlag.Pin) !== 0 ? HAD_RUN_PIN : HAD_POWER;
    const registers: [number, Register][] = [
      [CHIP_RESET, { readUint32: (at) => (at === CHIP_RESET_AT ? why : refuse("", `${at}`)) }],
      [
        ROSC,
        { readUint32: (at) => (at === ROSC_RANDOM_BIT_AT ? this.#draw() : refuse("", `${at}`)) },
      ],
    ];
    for (const [at, register] of registers) Object.assign(mcu.peripherals[at]!, register);
    const watchdog = mcu.peripherals[WATCHDOG] as unknown as Watchdog;
    const write = watchdog.writeUint32.bind(watchdog);
    watchdog.reason = isWatchdog ? 1 : 0;
    watchdog.onWatchdogTrigger = () => {
      if (mcu.peripherals[PSM]!.readUint32(PSM_WDSEL) !== ALL_BUT_OSCILLATORS) {
        refuse("a watchdog", "it would not reset the whole chip");
      }
      this.#resetDue = true;
      write(WATCHDOG_CTRL, 0); // it would go off again at the same moment, for ever
    };
    watchdog.writeUint32 = (offset, value) => {
      const isSlow = offset === WATCHDOG_TICK && (value & 0x1ff) !== mcu.clkSys / 1e6;
      if (isSlow) refuse("the timer", "its tick is not a microsecond");
      write(offset, value);
    };
  }

  /** A bit of noise: xorshift, seeded, so that each run gives the same. */
  #draw(): number {
    this.#noise ^= this.#noise << 13;
    this.#noise ^= this.#noise >>> 17;
    this.#noise ^= this.#noise << 5;
    return this.#noise & 1;
  }

  #send(byte: number): void {
    const { baudRate, wordLength } = this.#mcu.uart[0]!;
    if (baudRate !== LINE_BAUD || wordLength !== 8) refuse("the line", `at ${baudRate} baud`);
    const from = Math.max(this.cycleCount, this.#lineFreeCycles);
    this.#lineFreeCycles = from + BYTE_US * CYCLES_PER_US;
    this.#listener.byteSent(byte, from);
  }

  #tellOutputs(): void {
    const [a, b] = OUTPUT_PINS.map((pin) => this.#mcu.gpio[pin]!.value === GPIOPinState.High);
    this.#listener.outputsChanged((a ? 1 : 0) | (b ? 2 : 0), this.cycleCount);
  }

  /** A grounded pin reads low; a floating one reads high by its pull-up, else low. */
  #settlePin(number: number): void {
    const pin = this.#mcu.gpio[number]!;
    const isPulledUp = pin.value === GPIOPinState.InputPullUp;
    pin.setInputValue(!this.#grounded.has(number) && isPulledUp);
  }
}

const ignore = (): void => undefined;

function refuse(where: string, what: string): never {
  throw new Error(`Cannot emulate ${where}: ${what}`);
}
