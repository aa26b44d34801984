// An ATmega328P in this process, by avr8js: the processor, the peripherals that the e-stop firmware
// uses, and what the emulator leaves out. A reset makes a new processor, because the emulator's own
// leaves its peripherals as they were; EEPROM and time live on, and so does SRAM. Sleep jumps to
// the next event, so only work costs time. Floating inputs follow the chip's pull-ups.

import { avrInstruction, AVRClock, AVREEPROM, AVRIOPort, AVRTimer, AVRUSART } from "avr8js";
import { AVRWatchdog, CPU, EEPROMMemoryBackend, PinState, portBConfig, portDConfig } from "avr8js";
import { timer0Config, timer1Config, usart0Config, watchdogConfig } from "avr8js";
import { CHIP_HZ, ResetFlag } from "./chip.ts";
import type { Chip, ChipListener, Hang, PortName } from "./chip.ts";

const FLASH_SIZE_BYTES = 0x8000;
const SRAM_SIZE_BYTES = 2048;
const SRAM_FROM = 0x100;
const EEPROM_SIZE_BYTES = 1024;
const MCUSR = 0x54;
const SMCR = 0x53;
const SREG = 0x5f;
const INTERRUPTS_ON = 0x80;
const SLEEP = 0x9588;
const RJMP_SELF = 0xcfff;
const OUTPUT_PINS = [4, 5];
const UCSR0A = usart0Config.UCSRA;
const UCSR0B = usart0Config.UCSRB;
const RX_COMPLETE = 0x80;

type Event = { readonly cycles: number };
/** A field that the package keeps to itself: the next thing that happens without an instruction. */
type Sleeper = { readonly nextClockEvent: Event | null };

export class AvrChip implements Chip {
  /** Bytes that came while the one before had not been read: lost on a chip without a buffer. */
  overrunCount = 0;
  /** Resets by the watchdog. */
  watchdogCount = 0;
  readonly flash = new Uint16Array(FLASH_SIZE_BYTES / 2);
  readonly #eeprom = new EEPROMMemoryBackend(EEPROM_SIZE_BYTES);
  readonly #image: Uint8Array;
  readonly #listener: ChipListener;
  #cpu: CPU;
  #ports: Record<PortName, AVRIOPort>;
  #usart: AVRUSART;
  #asleep = false;
  #resetDue = false;
  #lastByte = 0;
  readonly #bytesDue: { readonly cycles: number; readonly byte: number }[] = [];
  /** Bits of the pins that the board ties to ground; the others float. */
  readonly #grounded: Record<PortName, number> = { B: 0, D: 0 };
  /** Those that it ties to the supply. */
  readonly #lifted: Record<PortName, number> = { B: 0, D: 0 };

  constructor(image: Uint8Array, listener: ChipListener) {
    this.#image = image;
    this.cure();
    this.#listener = listener;
    this.#cpu = new CPU(this.flash, SRAM_SIZE_BYTES);
    this.#ports = this.#attachPorts();
    this.#usart = this.#attachPeripherals();
    this.#start(ResetFlag.PowerOn, 0, new Uint8Array(SRAM_SIZE_BYTES).fill(0xa5));
  }

  get cycleCount(): number {
    return this.#cpu.cycles;
  }

  /** The processor, for a test that breaks it. */
  get cpu(): CPU {
    return this.#cpu;
  }

  /** Bytes of SRAM that nothing has ever written, below the stack. */
  get untouchedCount(): number {
    const sram = this.#cpu.data.subarray(SRAM_FROM);
    let longest = 0;
    let run = 0;
    for (const byte of sram) {
      run = byte === 0xa5 ? run + 1 : 0;
      longest = Math.max(longest, run);
    }
    return longest;
  }

  ground(port: PortName, pin: number, isTied: boolean): void {
    const others = this.#grounded[port] & ~(1 << pin);
    this.#grounded[port] = isTied ? others | (1 << pin) : others;
    this.#settlePin(port, pin);
  }

  /** Ties a pin to the supply, or lets it float. */
  lift(port: PortName, pin: number, isTied: boolean): void {
    const others = this.#lifted[port] & ~(1 << pin);
    this.#lifted[port] = isTied ? others | (1 << pin) : others;
    this.#settlePin(port, pin);
  }

  /** Whether the chip itself pulls a pin to ground. */
  isPulledLow(port: PortName, pin: number): boolean {
    return this.#ports[port].pinState(pin) === PinState.Low;
  }

  receiveAt(byte: number, cycles: number): void {
    this.#bytesDue.push({ byte, cycles });
  }

  runUntil(untilCycles: number): void {
    while (this.#cpu.cycles < untilCycles) {
      const due = this.#bytesDue[0];
      const stop = Math.min(untilCycles, due?.cycles ?? untilCycles);
      if (this.#cpu.cycles < stop) this.#runUntil(stop);
      if (due !== undefined && this.#cpu.cycles >= due.cycles) this.#deliver();
    }
  }

  reset(flags: number): void {
    this.#restart(flags);
  }

  hang(kind: Hang): void {
    const cpu = this.#cpu;
    if (kind === "tick") {
      cpu.writeData(timer0Config.TIMSK, 0);
      return;
    }
    while (!cpu.interruptsEnabled || this.#asleep) this.#runUntil(cpu.cycles + 1);
    this.flash[cpu.pc] = RJMP_SELF;
    if (kind === "all") cpu.data[SREG]! &= ~INTERRUPTS_ON;
  }

  cure(): void {
    new Uint8Array(this.flash.buffer).set(this.#image);
  }

  close(): void {}

  #deliver(): void {
    this.#lastByte = this.#bytesDue.shift()!.byte;
    if (this.#isByteWaiting()) this.overrunCount += 1;
    this.#usart.writeByte(this.#lastByte, true);
  }

  #isByteWaiting(): boolean {
    return (this.#cpu.data[UCSR0A]! & RX_COMPLETE) !== 0;
  }

  #runUntil(stop: number): void {
    const cpu = this.#cpu;
    const sleeper = cpu as unknown as Sleeper;
    while (cpu.cycles < stop) {
      if (this.#asleep) {
        const next = cpu.nextInterrupt >= 0 ? 0 : (sleeper.nextClockEvent?.cycles ?? stop);
        cpu.cycles = Math.max(cpu.cycles, Math.min(next, stop));
        const { pc } = cpu;
        cpu.tick();
        if (cpu.pc !== pc) this.#asleep = false;
      } else {
        const isSleep = this.#execute();
        const { pc } = cpu;
        cpu.tick();
        this.#asleep = isSleep && cpu.pc === pc;
      }
      if (this.#resetDue) {
        this.#restart(ResetFlag.Watchdog);
        return;
      }
    }
  }

  /**
   * One instruction, and the one behind it when it let interrupts in: the chip guarantees that, and
   * compilers rely on it to set both halves of the stack pointer. True when the last was a sleep.
   */
  #execute(): boolean {
    const cpu = this.#cpu;
    const wasOff = (cpu.data[SREG]! & INTERRUPTS_ON) === 0;
    const isSleep = this.#isSleep();
    avrInstruction(cpu);
    if (!wasOff || (cpu.data[SREG]! & INTERRUPTS_ON) === 0) return isSleep;
    const isSleepBehind = this.#isSleep();
    avrInstruction(cpu);
    return isSleepBehind;
  }

  #isSleep(): boolean {
    const cpu = this.#cpu;
    return cpu.progMem[cpu.pc] === SLEEP && (cpu.data[SMCR]! & 1) !== 0;
  }

  #restart(flag: number): void {
    if (flag === ResetFlag.Watchdog) this.watchdogCount += 1;
    const { cycles } = this.#cpu;
    const sram = this.#cpu.data.slice(SRAM_FROM, SRAM_FROM + SRAM_SIZE_BYTES);
    this.#cpu = new CPU(this.flash, SRAM_SIZE_BYTES);
    this.#ports = this.#attachPorts();
    this.#usart = this.#attachPeripherals();
    this.#start(flag, cycles, sram);
    this.#tellOutputs();
  }

  #start(flag: number, cycles: number, sram: Uint8Array): void {
    const cpu = this.#cpu;
    cpu.cycles = cycles;
    cpu.data.set(sram, SRAM_FROM);
    cpu.data[MCUSR] = flag;
    this.#asleep = false;
    this.#resetDue = false;
    cpu.reset = () => {
      this.#resetDue = true;
    };
  }

  #attachPorts(): Record<PortName, AVRIOPort> {
    const ports = {
      B: new AVRIOPort(this.#cpu, portBConfig),
      D: new AVRIOPort(this.#cpu, portDConfig),
    };
    for (const name of ["B", "D"] as const) {
      ports[name].addListener(() => {
        for (let pin = 0; pin < 8; pin += 1) this.#settlePin(name, pin);
        this.#tellOutputs();
      });
    }
    return ports;
  }

  #tellOutputs(): void {
    const [a, b] = OUTPUT_PINS.map((pin) => this.#ports.D.pinState(pin) === PinState.High);
    this.#listener.outputsChanged((a ? 1 : 0) | (b ? 2 : 0), this.#cpu.cycles);
  }

  /** A grounded pin reads low; a floating one reads high by its pull-up, else low. */
  #settlePin(port: PortName, pin: number): void {
    const isGrounded = (this.#grounded[port] & (1 << pin)) !== 0;
    const isPulledUp = this.#ports[port].pinState(pin) === PinState.InputPullUp;
    const isLifted = (this.#lifted[port] & (1 << pin)) !== 0;
    this.#ports[port].setPin(pin, !isGrounded && (isLifted || isPulledUp));
  }

  #attachPeripherals(): AVRUSART {
    const cpu = this.#cpu;
    const clock = new AVRClock(cpu, CHIP_HZ);
    new AVRTimer(cpu, timer0Config);
    new AVRTimer(cpu, timer1Config);
    new AVRWatchdog(cpu, watchdogConfig, clock);
    new AVREEPROM(cpu, this.#eeprom);
    const usart = new AVRUSART(cpu, usart0Config, CHIP_HZ);
    usart.onByteTransmit = (byte) => this.#listener.byteSent(byte, cpu.cycles);
    // The emulator forgets a byte that waits when the receiver, already on, is switched on again.
    const write = cpu.writeHooks[UCSR0B]!;
    cpu.writeHooks[UCSR0B] = (value, old, address, mask) => {
      const waits = this.#isByteWaiting();
      const result = write(value, old, address, mask);
      if (waits) usart.writeByte(this.#lastByte, true);
      return result;
    };
    return usart;
  }
}
