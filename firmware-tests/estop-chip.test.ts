// What only a chip can show: its watchdog, its resets, its memory, its line at full speed. Runs the
// committed images in each emulator that is there; where avr-gcc is, they are built and compared.

import { describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { EstopCause, EstopFlag, EstopMode, EstopOutput } from "../runtime/contracts/estop-codes.ts";
import { AvrChip } from "../drivers/estop/avr-chip.ts";
import { ResetFlag } from "../drivers/estop/chip.ts";
import type { Hang } from "../drivers/estop/chip.ts";
import { ChipBoard, committedImage, imageAt } from "./chip-board.ts";
import { EstopHost } from "./estop-host.ts";
import { BOOT_MS, MS, told } from "./estop-rig.ts";
import { FIRMWARE, FIRMWARE_OUT, hasAvrCompiler, hasSimavr } from "./firmware-build.ts";
import { makeFirmware, simavrBoard } from "./firmware-build.ts";
import { IntelHexError, readIntelHex } from "../drivers/estop/intel-hex.ts";
import { SimavrChip } from "./simavr-chip.ts";

/** Nominal, as both emulators model it; the oscillator of a real chip is off by up to a tenth. */
const WATCHDOG_MS = 16;
/** A tick that was already due is still done, and feeds the watchdog once more. */
const LAST_TICK_MS = 0.3;
/** The slowest emulator on a busy machine. */
const CASE_MS_MAX = 60_000;
const SRAM_SIZE_BYTES = 2048;
const HEX = "estop_m328p.hex";
const EMULATED_HEX = "estop_m328p_emulated.hex";

type MakeBoard = (hex: string) => ChipBoard;
type Rig = { readonly board: ChipBoard; readonly host: EstopHost };
type ChipCase = { readonly name: string; readonly run: (rig: Rig) => void; readonly hex?: string };

const inAvr8js: MakeBoard = (hex) =>
  new ChipBoard("avr8js", (listener) => new AvrChip(committedImage(hex), listener));
const inSimavr: MakeBoard = (hex) => {
  const path = join(FIRMWARE, hex);
  return new ChipBoard("simavr", (listener) => new SimavrChip(simavrBoard(), path, listener));
};

function withBoard(makeBoard: MakeBoard, hex: string, run: (rig: Rig) => void): void {
  const board = makeBoard(hex);
  try {
    run({ board, host: new EstopHost(board) });
  } finally {
    board.close();
  }
}

const hangs: readonly (readonly [string, Hang])[] = [
  ["its main loop", "main"],
  ["everything", "all"],
  ["its tick interrupt", "tick"],
];

const hangCases: readonly ChipCase[] = hangs.map(([what, kind]) => ({
  name: `a chip that hangs with ${what} is reset by its watchdog, outputs open, and says so`,
  run: ({ board, host }) => {
    host.arm();
    const fromUs = board.nowUs;
    board.chip.hang(kind);
    board.runUntil(fromUs + (WATCHDOG_MS + 1) * MS);
    const lateMs = (board.edges.at(-1)!.atUs - fromUs) / MS;
    expect([board.outputBits, board.chip.watchdogCount]).toEqual([0, 1]);
    expect(lateMs).toBeLessThanOrEqual(WATCHDOG_MS + LAST_TICK_MS);
    board.chip.cure();
    board.chip.reset(ResetFlag.Watchdog);
    host.pause(BOOT_MS * MS);
    expect([told(host), board.outputBits]).toEqual(["TRIPPED watchdog", 0]);
    host.arm();
    expect(board.outputBits).toBe(EstopOutput.Both);
  },
}));

const resets: readonly (readonly [number, EstopCause])[] = [
  [ResetFlag.PowerOn | ResetFlag.BrownOut, EstopCause.PowerOn],
  [ResetFlag.BrownOut, EstopCause.BrownOut],
  [ResetFlag.Pin, EstopCause.ResetPin],
  [ResetFlag.Watchdog | ResetFlag.Pin, EstopCause.Watchdog],
];

const resetCases: readonly ChipCase[] = resets.map(([flags, cause]) => ({
  name: `a reset with flags ${flags} is told as cause ${cause}`,
  run: ({ board, host }) => {
    board.chip.reset(flags);
    host.pause(BOOT_MS * MS);
    expect([host.status.mode, host.status.cause]).toEqual([EstopMode.Tripped, cause]);
  },
}));

const cases: readonly ChipCase[] = [
  ...hangCases,
  {
    name: "a chip that hangs for good goes from reset to reset with its outputs open",
    run: ({ board, host }) => {
      host.arm();
      board.chip.hang("main");
      const count = board.edges.length + 1;
      board.runUntil(board.nowUs + 300 * MS);
      expect([board.outputBits, board.edges.length]).toEqual([0, count]);
    },
  },
  ...resetCases,
  {
    name: "each boot has another nonce, also when power fails while it is counted",
    run: ({ board, host }) => {
      const nonces = new Set<number>();
      for (let boot = 0; boot < 12; boot += 1) {
        host.pause(BOOT_MS * MS);
        nonces.add(host.status.bootNonce);
        board.chip.reset(ResetFlag.PowerOn);
        board.runUntil(board.nowUs + boot * 2.7 * MS);
        board.chip.reset(ResetFlag.PowerOn);
      }
      expect(nonces.size).toBe(12);
    },
  },
  {
    name: "noise before a frame costs one bad answer and not the frame",
    run: ({ board, host }) => {
      host.pause(BOOT_MS * MS);
      host.beats(10);
      board.send(Uint8Array.from([0x17, 0x02, 0x01, 0x44]));
      const { badCount, tickIndex } = host.status;
      host.beat();
      host.beat("none");
      expect([host.status.badCount - badCount, host.status.tickIndex > tickIndex]).toEqual([
        1,
        true,
      ]);
    },
  },
  {
    name: "a flood of noise opens the outputs, and the chip stays on time and talks",
    run: ({ board, host }) => {
      host.arm();
      const noise = Uint8Array.from({ length: 250 }, (_, at) => (at * 73 + 7) % 256);
      const before = host.statusCount;
      for (let period = 0; period < 40; period += 1) {
        board.send(noise);
        host.pause(5 * MS);
      }
      expect([board.outputBits, host.statusCount - before, host.brokenCount]).toEqual([0, 40, 0]);
      expect([host.status.mode, board.chip.watchdogCount]).toEqual([EstopMode.Tripped, 0]);
      host.arm();
      expect(board.outputBits).toBe(EstopOutput.Both);
    },
  },
  {
    name: "the image for emulated boards has a T_wd of 100 ms",
    hex: EMULATED_HEX,
    run: ({ board, host }) => {
      host.arm();
      const { silenceMs, stopMs, cutDelayMs, discrepancyMs, build } = host.status;
      expect([silenceMs, stopMs, cutDelayMs, discrepancyMs, build]).toEqual([100, 300, 0, 100, 4]);
      host.beat();
      host.pause(110 * MS);
      const lateMs = (board.edges.at(-1)!.atUs - host.lastBeatUs) / MS - 100;
      expect([told(host), lateMs > -0.3, lateMs < 1]).toEqual(["TRIPPED silence", true, true]);
    },
  },
];

const emulators = [["avr8js", inAvr8js], ...(hasSimavr ? [["simavr", inSimavr] as const] : [])];
for (const [name, makeBoard] of emulators as [string, MakeBoard][]) {
  describe(name, () => {
    for (const { name: title, run, hex } of cases) {
      test(title, () => withBoard(makeBoard, hex ?? HEX, run), CASE_MS_MAX);
    }
  });
}

test("reset flags that a bootloader took and handed over in r2 are told all the same", () => {
  withBoard(inAvr8js, HEX, ({ board, host }) => {
    board.chip.reset(0);
    (board.chip as AvrChip).cpu.data[2] = ResetFlag.Watchdog;
    host.pause(BOOT_MS * MS);
    expect(told(host)).toBe("TRIPPED watchdog");
  });
});

test("the two images differ in their T_wd and in nothing else", () => {
  const [image, emulated] = [HEX, EMULATED_HEX].map(committedImage);
  const places = [...image!.keys()].filter((at) => image![at] !== emulated![at]);
  expect(places.map((at) => [image![at], emulated![at]])).toEqual([[25, 100]]);
});

/** `name value` lines of sizes.txt. */
function committedSizes(): Record<string, number> {
  const lines = readFileSync(join(FIRMWARE, "sizes.txt"), "utf8").trim().split("\n");
  const pairs = lines.map((line) => line.split(/\s+/) as [string, string]);
  return Object.fromEntries(pairs.map(([name, value]) => [name, Number(value)]));
}

test("sizes.txt is what the image takes, with the deepest stack of arming and faults", () => {
  withBoard(inAvr8js, HEX, ({ board, host }) => {
    host.arm();
    host.flags = EstopFlag.Stop;
    for (let beat = 0; beat < 10; beat += 1) host.beat(beat % 2 === 0 ? "burst" : "good");
    host.pause(400 * MS);
    host.flags = 0;
    host.arm();
    const sizes = committedSizes();
    const chip = board.chip as AvrChip;
    const flash = committedImage(HEX).findLastIndex((byte) => byte !== 0xff) + 1;
    const stack = SRAM_SIZE_BYTES - chip.untouchedCount - sizes["static_ram_bytes"]!;
    expect([flash, stack]).toEqual([sizes["flash_bytes"]!, sizes["stack_bytes"]!]);
    expect(chip.overrunCount).toBe(0);
  });
});

const avrTest = test.skipIf(!hasAvrCompiler);

avrTest(
  "the committed images are what avr-gcc makes of the sources",
  () => {
    makeFirmware("m328p");
    const elf = join(FIRMWARE_OUT, "estop_m328p.elf");
    const rows = Bun.spawnSync(["avr-size", elf]).stdout.toString().trim().split("\n");
    const [, data, bss] = rows[1]!.trim().split(/\s+/).map(Number) as [number, number, number];
    expect(data + bss).toBe(committedSizes()["static_ram_bytes"]!);
    for (const name of [HEX, EMULATED_HEX]) {
      const built = readFileSync(join(FIRMWARE_OUT, name), "utf8");
      expect([name, built === readFileSync(join(FIRMWARE, name), "utf8")]).toEqual([name, true]);
    }
  },
  CASE_MS_MAX,
);

/** A key file as the host reads it. */
function keyFile(text: string): string {
  const path = join(FIRMWARE_OUT, "key");
  mkdirSync(FIRMWARE_OUT, { recursive: true });
  writeFileSync(path, text, { mode: 0o600 });
  return path;
}

avrTest("a key file without a key builds nothing, and is named", () => {
  for (const text of ["", "01020304050607\n", "010203040506070809\n", "0102030405060708\n00\n"]) {
    const path = keyFile(text);
    expect(() =>
      makeFirmware("m328p", `OUT=${join(FIRMWARE_OUT, text)}`, `KEY_FILE=${path}`),
    ).toThrow(`Cannot use KEY_FILE=${path}: expected one line of 16 hex digits`);
  }
});

avrTest(
  "a keyed image arms with its key, and takes no other's answers",
  () => {
    const out = join(FIRMWARE_OUT, "keyed");
    makeFirmware("m328p", `OUT=${out}`, `KEY_FILE=${keyFile("0102030405060708\n")}`);
    const image = imageAt(join(out, HEX));
    const key = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8);
    const board = new ChipBoard("keyed", (listener) => new AvrChip(image, listener));
    const host = new EstopHost(board, key);
    host.arm();
    expect([board.outputBits, host.status.build]).toEqual([EstopOutput.Both, 6]);
    const stranger = new EstopHost(board, key.toReversed());
    stranger.pause(60 * MS);
    expect([board.outputBits, stranger.statusCount, stranger.brokenCount > 5]).toEqual([
      0,
      0,
      true,
    ]);
  },
  CASE_MS_MAX,
);

test("an image that is cut, changed or of another kind is refused with its line", () => {
  const flash = new Uint8Array(64);
  const good = ":0400000001020304F2";
  const end = ":00000001FF";
  readIntelHex(`${good}\n${end}\n`, flash);
  expect([...flash.subarray(0, 5)]).toEqual([1, 2, 3, 4, 0]);
  const refused: [string, number, string][] = [
    [good, 1, "no end record"],
    [`${good}\n:0400000001020304F3\n${end}`, 2, "the checksum is wrong"],
    [`x${good}\n${end}`, 1, "expected a colon and pairs of hex digits"],
    [`${end}\n${good}`, 1, "records after the end"],
    [`:02000004FFFFFC\n${end}`, 1, "expected a data or end record, found type 4"],
    [`:0500000001020304F1\n${end}`, 1, "expected 5 data bytes, found 4"],
    [`:04003E0001020304B4\n${end}`, 1, "the flash ends before"],
  ];
  for (const [text, line, why] of refused) {
    expect(() => readIntelHex(text, flash)).toThrow(new IntelHexError(line, why));
  }
});
