// A bench with real boards: the e-stop on one port, the probe of `hil-probe/` on another, both
// through the program's own serial layer. The bench's time is this machine's; the probe's times are
// brought onto it by asking for them again and again, since a Nano's resonator drifts. What must be
// exact is read in the probe's own time instead.

import { openSerial } from "../hal/ffi/serial.ts";
import { GONE } from "../hal/ffi/file-descriptor.ts";
import type { FileDescriptor } from "../hal/ffi/file-descriptor.ts";
import { duration, instant, NS_PER_US } from "../runtime/contracts/units.ts";
import { MonotonicClock, sessionOrigin } from "../hal/ffi/monotonic-clock.ts";
import type { BenchReset, EstopBench, OutputEdge } from "./estop-bench.ts";
import { RelayPair, SWITCHES_AT_REST } from "./estop-bench.ts";

const BAUD = 500_000;
const STEP_US = 1_000;
/** How often the probe is asked for its time. */
const ASK_US = 20_000;
const SAMPLE_COUNT = 8;
/** A board's boot loader may listen for two seconds first. */
const START_US_MAX = 4_000_000;
const REPLY_US_MAX = 100_000;
const RESET_US = 10_000;
const WAIT_MS = 100;
/** The probe counts half microseconds in 32 bits. */
const PROBE_WRAP_US = 2 ** 31;

export type PortName = "board" | "probe";

/**
 * Who lets time pass: the machine for boards, an emulator in lockstep. Terminals hand bytes on when
 * the kernel likes, so an emulator, whose time waits for nobody, counts them and waits for each.
 */
export interface HilClock {
  nowUs(): number;
  passUntil(untilUs: number): void;
  /** So many bytes more were written to a port. */
  noteWritten(port: PortName, count: number): void;
  /** Bytes that a port has sent in all; reading waits for them. Zero when nobody knows. */
  sentCount(port: PortName): number;
}

/** Time of this machine. */
export class WallClock implements HilClock {
  readonly #clock = new MonotonicClock(sessionOrigin(), duration(0));

  nowUs(): number {
    return this.#clock.nowNs() / NS_PER_US;
  }

  passUntil(untilUs: number): void {
    while (!this.#clock.sleepSliceUntil(instant(Math.ceil(untilUs * NS_PER_US))));
  }

  noteWritten(): void {}

  sentCount(): number {
    return 0;
  }
}

/** A board's line, with its bytes counted for the clock. */
class Port {
  readonly #name: PortName;
  readonly #line: FileDescriptor;
  readonly #clock: HilClock;
  #readCount = 0;

  constructor(name: PortName, path: string, clock: HilClock) {
    this.#name = name;
    this.#line = openSerial(path, BAUD);
    this.#clock = clock;
  }

  write(bytes: Uint8Array): void {
    const count = this.#line.write(bytes, bytes.length);
    if (count !== bytes.length) throw new Error(`Cannot write to the ${this.#name}: ${this.path}`);
    this.#clock.noteWritten(this.#name, count);
  }

  read(): number[] {
    const bytes: number[] = [];
    for (;;) {
      const count = this.#line.read();
      if (count === GONE) throw new Error(`Cannot read the ${this.#name}: ${this.path} is gone`);
      bytes.push(...this.#line.received.subarray(0, count));
      this.#readCount += count;
      if (count > 0) continue;
      if (this.#readCount >= this.#clock.sentCount(this.#name)) return bytes;
      this.#line.waitReadable(WAIT_MS);
    }
  }

  get path(): string {
    return this.#line.path;
  }

  close(): void {
    this.#line.close();
  }
}

/** An edge with what the probe said of it: when, and when the board last heard something. */
export type HilEdge = OutputEdge & { readonly probeUs: number; readonly lineUs: number };

type ProbeLine = {
  readonly kind: string;
  readonly value: number;
  readonly probeUs: number;
  readonly lineUs: number;
};

/** What the probe answered, and how far its clock is ahead. */
type Reply = ProbeLine & { readonly roundTripUs: number; readonly aheadUs: number };

export class HilBench implements EstopBench {
  readonly name: string;
  readonly edges: HilEdge[] = [];
  readonly relays = new RelayPair();
  outputBits = 0;
  /** When the last change of a switch or a contact took effect, in the probe's time. */
  changedProbeUs = 0;
  readonly #clock: HilClock;
  readonly #board: Port;
  readonly #probe: Port;
  readonly #samples: Reply[] = [];
  readonly #replies: Reply[] = [];
  #received: number[] = [];
  #text = "";
  #askedUs = Number.NEGATIVE_INFINITY;
  #switchBits: number = SWITCHES_AT_REST;
  #relayCommand = "";

  /** Opens both, and starts the board by its reset pin with its switches at rest. */
  constructor(name: string, boardPath: string, probePath: string, clock: HilClock) {
    this.name = name;
    this.#clock = clock;
    this.#probe = new Port("probe", probePath, clock);
    this.#board = new Port("board", boardPath, clock);
    try {
      this.#start();
    } catch (cause) {
      this.close(); // or the next test would find the ports taken
      throw cause;
    }
  }

  get nowUs(): number {
    return this.#clock.nowUs();
  }

  get switchBits(): number {
    return this.#switchBits;
  }

  set switchBits(bits: number) {
    this.#switchBits = bits;
    this.changedProbeUs = this.#command("s", bits).probeUs;
  }

  runUntil(untilUs: number): void {
    this.#moveRelays();
    while (this.nowUs < untilUs) {
      this.#clock.passUntil(Math.min(this.nowUs + STEP_US, untilUs));
      this.#listen();
    }
  }

  send(bytes: Uint8Array): void {
    this.#board.write(bytes);
  }

  takeReceived(): Uint8Array {
    this.#received.push(...this.#board.read());
    return Uint8Array.from(this.#received.splice(0));
  }

  /** Only its pin can be reset from here. Returns once the board talks. */
  reset(cause: BenchReset): void {
    if (cause !== "reset_pin") throw new Error(`Cannot reset a board by ${cause}: only by its pin`);
    this.#command("r", 1);
    this.runUntil(this.nowUs + RESET_US);
    this.takeReceived();
    this.#command("r", 0);
    const lateUs = this.nowUs + START_US_MAX;
    while (this.#received.length === 0) {
      if (this.nowUs > lateUs) throw new Error(`Cannot hear the board on ${this.#board.path}`);
      this.runUntil(this.nowUs + STEP_US);
    }
  }

  close(): void {
    this.#board.close();
    this.#probe.close();
  }

  #start(): void {
    this.#findProbe();
    this.#command("s", this.#switchBits);
    this.#moveRelays();
    this.reset("reset_pin");
    this.edges.length = 0;
  }

  #findProbe(): void {
    const lateUs = this.nowUs + START_US_MAX;
    while (this.nowUs < lateUs) {
      try {
        this.outputBits = this.#command("t", 0).value;
        return;
      } catch (cause) {
        if (!(cause instanceof ProbeSilence)) throw cause;
      }
    }
    throw new Error(`Cannot find the probe on ${this.#probe.path}: is hil_probe.hex on it?`);
  }

  /** Says it to the probe and waits until it is done. */
  #command(kind: string, value: number): Reply {
    this.#ask(kind, value);
    this.#replies.length = 0;
    const lateUs = this.nowUs + REPLY_US_MAX;
    while (this.nowUs < lateUs) {
      this.#clock.passUntil(this.nowUs + STEP_US / 4);
      this.#listen();
      const reply = this.#replies.find((each) => each.kind === kind);
      if (reply !== undefined) return reply;
    }
    throw new ProbeSilence();
  }

  #ask(kind: string, value: number): void {
    const bytes = new TextEncoder().encode(`${kind}${value.toString(16)}\n`);
    this.#probe.write(bytes);
    this.#askedUs = this.nowUs;
  }

  #moveRelays(): void {
    const { welded, stuckOpen } = this.relays;
    const command = `${welded} ${stuckOpen}`;
    if (command === this.#relayCommand) return;
    this.#command("w", welded);
    this.changedProbeUs = this.#command("o", stuckOpen).probeUs;
    this.#relayCommand = command;
  }

  #listen(): void {
    this.#received.push(...this.#board.read());
    this.#text += String.fromCharCode(...this.#probe.read());
    const lines = this.#text.split("\n");
    this.#text = lines.pop()!;
    for (const line of lines) this.#take(line);
    if (this.nowUs - this.#askedUs >= ASK_US) this.#ask("t", 0);
  }

  #take(text: string): void {
    const line = probeLineOf(text);
    if (line === undefined) return; // the first after opening may be cut
    if (line.kind === "x") throw new Error("Cannot trust the bench: the probe lost events");
    if (line.kind === "e") this.#addEdge(line);
    else this.#addReply(line);
  }

  #addReply(line: ProbeLine): void {
    const roundTripUs = this.nowUs - this.#askedUs;
    const aheadUs = line.probeUs - (this.nowUs - roundTripUs / 2);
    const reply = { ...line, roundTripUs, aheadUs };
    this.#replies.push(reply);
    this.#samples.push(reply);
    if (this.#samples.length > SAMPLE_COUNT) this.#samples.shift();
  }

  #addEdge({ value, probeUs, lineUs }: ProbeLine): void {
    const quickest = this.#samples.toSorted((a, b) => a.roundTripUs - b.roundTripUs)[0];
    const behindUs = probeUs - (quickest?.aheadUs ?? 0) - this.nowUs;
    const wraps = Math.round(behindUs / PROBE_WRAP_US);
    const atUs = this.nowUs + behindUs - wraps * PROBE_WRAP_US;
    this.outputBits = value;
    this.edges.push({ atUs, outputBits: value, probeUs, lineUs });
  }
}

class ProbeSilence extends Error {
  override readonly name = "ProbeSilence";

  constructor() {
    super(`Cannot hear the probe: no answer for ${REPLY_US_MAX / 1_000} ms`);
  }
}

/** From a moment to another of the probe's time, across its wrap. */
export function probeMsBetween(fromUs: number, untilUs: number): number {
  return ((untilUs - fromUs + PROBE_WRAP_US) % PROBE_WRAP_US) / 1_000;
}

/** `e3 0012d687 0012cfa0`: kind, value, the probe's time, when the board last heard something. */
export function probeLineOf(text: string): ProbeLine | undefined {
  const match = /^([a-z?])([0-9a-f]) ([0-9a-f]{8}) ([0-9a-f]{8})$/.exec(text);
  if (match === null) return undefined;
  const [, kind, value, probe, line] = match as unknown as [string, string, string, string, string];
  const [valueBits, probeUs, lineUs] = [value, probe, line].map((each) =>
    Number.parseInt(each, 16),
  );
  return { kind, value: valueBits!, probeUs: probeUs!, lineUs: lineUs! };
}
