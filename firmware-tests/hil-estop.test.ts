// The e-stop on a bench with boards: two emulated Nanos in lockstep, always; and with HIL_BOARD and
// HIL_PROBE a flashed board and a probe on cables, by the same tests. Of the list of behaviours it
// runs those whose expectations bear the lateness of a USB port; what must be exact to the
// millisecond is measured by the probe alone. `hil-probe/README.md` has wiring and protocol.

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { EstopInput, EstopOutput } from "../runtime/contracts/estop-codes.ts";
import { openSerial } from "../hal/ffi/serial.ts";
import { committedImage } from "./chip-board.ts";
import { describeEstop, estopBehaviours } from "./estop-behaviour.ts";
import { SWITCHES_AT_REST } from "./estop-bench.ts";
import { EstopHost } from "./estop-host.ts";
import { FILTER_MS, MS, told } from "./estop-rig.ts";
import { FIRMWARE_OUT, hasAvrCompiler, makeFirmware } from "./firmware-build.ts";
import { HilBench, probeLineOf, probeMsBetween, WallClock } from "./hil-bench.ts";
import { HilPair, PROBE_HEX } from "./hil-pair.ts";

const { ButtonAClosed, ButtonBClosed, ChainClosed } = EstopInput;
const SETTLE_MS = 50;
const CASE_MS_MAX = 60_000;

/** Behaviours that a board on a cable can show. */
const SHOWN: readonly string[] = [
  "arms on the edge of the reset button after the proof test, and tells no cause",
  "one corrupt answer counts once, and a good one takes it back",
  "one repeated answer counts once, and a good one takes it back",
  "frames of zeros count neither way",
  "a host that beats too fast is off at once and latched",
  "a contact that stays closed is told as welded_a, and bars arming",
  "goodbye disarms without a fault, and only a whole arming closes the outputs again",
  "goodbye during SS1-t opens at once and stays the stop that it was",
  "a host process that dies and comes back finds a tripped chip, and may arm it anew",
];

type Rig = { readonly bench: HilBench; readonly host: EstopHost };

/** Ms from a moment of the probe's time to the edge that left both outputs open; else NaN. */
function msUntilOpen({ bench }: Rig, fromProbeUs: number): number {
  const edge = bench.edges.at(-1);
  return edge?.outputBits === 0 ? probeMsBetween(fromProbeUs, edge.probeUs) : Number.NaN;
}

type HilCase = readonly [name: string, run: (rig: Rig) => void];

/** From armed on; times are the probe's. */
const hilCases: readonly HilCase[] = [
  [
    "from the last byte on the line to open outputs it is T_wd + 1 ms at most",
    (rig) => {
      const { bench, host } = rig;
      host.beats(8);
      host.pause((host.status.silenceMs + 15) * MS);
      const silentMs = msUntilOpen(rig, bench.edges.at(-1)!.lineUs);
      console.log(`${bench.name}: silence to open ${silentMs.toFixed(2)} ms`);
      expect(silentMs).toBeGreaterThanOrEqual(host.status.silenceMs - 0.3);
      expect(silentMs).toBeLessThanOrEqual(host.status.silenceMs + 1);
      expect(told(host)).toBe("TRIPPED silence");
    },
  ],
  [
    "the button opens the outputs after SS1-t and the filter",
    (rig) => {
      const { bench, host } = rig;
      bench.switchBits &= ~(ButtonAClosed | ButtonBClosed);
      const pressedUs = bench.changedProbeUs;
      host.beats(10);
      expect([told(host), bench.outputBits]).toEqual(["STOPPING button", EstopOutput.Both]);
      host.beats(60);
      const lateMs = msUntilOpen(rig, pressedUs) - host.status.stopMs;
      expect(lateMs).toBeGreaterThanOrEqual(FILTER_MS);
      expect(lateMs).toBeLessThanOrEqual(FILTER_MS + 1);
      expect(told(host)).toBe("TRIPPED button");
    },
  ],
  [
    "one channel alone is a discrepancy, in its time",
    (rig) => {
      const { bench, host } = rig;
      bench.switchBits &= ~ButtonBClosed;
      const pressedUs = bench.changedProbeUs;
      host.beats(30);
      expect(told(host)).toBe("TRIPPED discrepancy");
      const lateMs = msUntilOpen(rig, pressedUs) - host.status.discrepancyMs;
      expect(lateMs).toBeGreaterThanOrEqual(FILTER_MS);
      expect(lateMs).toBeLessThanOrEqual(FILTER_MS + 1);
    },
  ],
  [
    "the limit chain opens the outputs after the filter",
    (rig) => {
      const { bench, host } = rig;
      bench.switchBits &= ~ChainClosed;
      const openedUs = bench.changedProbeUs;
      host.beats(6);
      expect(told(host)).toBe("TRIPPED limit_chain");
      expect(msUntilOpen(rig, openedUs)).toBeLessThanOrEqual(FILTER_MS + 1);
    },
  ],
  [
    "a contact that opens by itself is found in its time",
    (rig) => {
      const { bench, host } = rig;
      bench.relays.stuckOpen = 1;
      host.beats(20);
      expect(told(host)).toBe("TRIPPED stuck_open_a");
      const lateMs = msUntilOpen(rig, bench.changedProbeUs) - SETTLE_MS;
      expect(lateMs).toBeLessThanOrEqual(FILTER_MS + 1);
    },
  ],
  [
    "a reset by its pin opens the outputs, and only a whole arming closes them",
    (rig) => {
      const { bench, host } = rig;
      const nonce = host.status.bootNonce;
      bench.reset("reset_pin");
      expect(bench.outputBits).toBe(0);
      host.pause(20 * MS);
      expect([told(host), host.status.bootNonce === nonce]).toEqual(["TRIPPED reset_pin", false]);
      host.arm();
      expect(bench.outputBits).toBe(EstopOutput.Both);
    },
  ],
];

function describeHil(makeBench: () => HilBench): void {
  describeEstop(makeBench, ({ name }) => SHOWN.includes(name));
  for (const [name, run] of hilCases) test(name, () => runArmed(makeBench(), run), CASE_MS_MAX);
}

function runArmed(bench: HilBench, run: (rig: Rig) => void): void {
  try {
    const host = new EstopHost(bench);
    host.arm();
    run({ bench, host });
  } finally {
    bench.close();
  }
}

const image = committedImage("estop_m328p.hex");

/** A bench over two emulated boards; closing it ends both. */
function emulatedBench(): HilBench {
  const pair = new HilPair(image, PROBE_HEX);
  const bench = new HilBench("two emulated Nanos", pair.boardPath, pair.probePath, pair);
  const close = bench.close.bind(bench);
  bench.close = () => {
    close();
    pair.close();
  };
  return bench;
}

describe("two emulated Nanos", () => describeHil(emulatedBench));

const { HIL_BOARD, HIL_PROBE } = process.env;
if (HIL_BOARD !== undefined && HIL_PROBE !== undefined) {
  const clock = new WallClock();
  describe("boards on cables", () =>
    describeHil(() => new HilBench(`board on ${HIL_BOARD}`, HIL_BOARD, HIL_PROBE, clock)));
} else {
  console.log(
    `skipped: the e-stop on a real board, ${SHOWN.length + hilCases.length} tests: HIL_BOARD and ` +
      "HIL_PROBE name its ports; firmware-tests/hil-probe/README.md has the bench and the command",
  );
}

test("each behaviour that a board shows is in the list", () => {
  const names = estopBehaviours.map(({ name }) => name);
  expect(SHOWN.filter((name) => !names.includes(name))).toEqual([]);
});

test("a run on emulated boards is the same each time", () => {
  const edges = [1, 2].map(() => {
    const bench = emulatedBench();
    new EstopHost(bench).arm();
    bench.close();
    return bench.edges;
  });
  expect(edges[0]!.map(({ outputBits }) => outputBits)).toEqual([1, 0, 2, 0, 3]);
  expect(edges[1]).toEqual(edges[0]!);
});

test("the probe welds contacts and keeps them open, and its switches begin at rest", () => {
  const pair = new HilPair(image, PROBE_HEX);
  const bench = new HilBench("probe", pair.boardPath, pair.probePath, pair);
  const host = new EstopHost(bench);
  const readBacks = (): number => (host.status.inputs >> 4) & 3;
  const seen: number[] = [];
  for (const [welded, stuckOpen] of [
    [0, 0],
    [2, 0],
    [3, 0],
    [3, 1],
  ] as const) {
    Object.assign(bench.relays, { welded, stuckOpen });
    host.pause(30 * MS);
    seen.push(readBacks());
  }
  expect(seen).toEqual([0, 2, 3, 2]);
  expect(host.status.inputs & 15).toBe(SWITCHES_AT_REST);
  bench.close();
  pair.close();
});

test("the probe answers a command that it doesn't know, and goes on", () => {
  const pair = new HilPair(image, PROBE_HEX);
  const line = openSerial(pair.probePath, 500_000);
  pair.passUntil(1_000); // it hears nothing before it has started
  const commands = new TextEncoder().encode("q1\nsx\nt0\n");
  line.write(commands, commands.length);
  pair.noteWritten("probe", commands.length);
  pair.passUntil(6_000);
  let text = "";
  while (text.length < pair.sentCount("probe")) {
    line.waitReadable(100);
    text += String.fromCharCode(...line.received.subarray(0, Math.max(0, line.read())));
  }
  const kinds = text.trim().split("\n");
  expect(kinds.map((each) => probeLineOf(each)?.kind)).toEqual(["b", "?", "?", "t"]);
  line.close();
  pair.close();
});

test("a line of the probe is read whole, or not at all", () => {
  expect(probeLineOf("e3 0012d687 0012cfa0")).toEqual({
    kind: "e",
    value: 3,
    probeUs: 0x12d687,
    lineUs: 0x12cfa0,
  });
  for (const text of ["", "e3 0012d687", "e3 0012d687 0012cfa", "E3 0012d687 0012cfa0"]) {
    expect(probeLineOf(text)).toBeUndefined();
  }
  expect(probeMsBetween(2 ** 31 - 500, 1_500)).toBe(2);
});

test.skipIf(!hasAvrCompiler)(
  "the probe's committed image is what avr-gcc makes of its source",
  () => {
    makeFirmware("probe");
    const built = readFileSync(join(FIRMWARE_OUT, "hil_probe.hex"), "utf8");
    expect(built === readFileSync(PROBE_HEX, "utf8")).toBe(true);
  },
);
