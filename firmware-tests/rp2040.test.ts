// The RP2040's committed image in rp2040js: the behaviours that every e-stop chip must show, and
// what only a chip can: watchdog, resets, nonce, a flood on the line, sizes, the boot stage.
//
// Not shown here, since the chip or the emulator can't: a brown-out told apart from power (the chip
// has one bit for both), the boot ROM and the flash controller's timing (the image starts at its
// second boot stage), the watchdog resetting part of the chip (the emulator leaves the reset to its
// host, which makes a new chip), a full transmitter, and the wire, whose time the bench gives.

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { EstopCause, EstopFlag, EstopMode, EstopOutput } from "../runtime/contracts/estop-codes.ts";
import { ResetFlag } from "../drivers/estop/chip.ts";
import type { Hang } from "../drivers/estop/chip.ts";
import { ChipBoard } from "./chip-board.ts";
import { BYTE_US } from "./estop-bench.ts";
import { describeEstop, estopBehaviours } from "./estop-behaviour.ts";
import { EstopHost } from "./estop-host.ts";
import { BOOT_MS, MS, told } from "./estop-rig.ts";
import { FIRMWARE, FIRMWARE_OUT, hasArmCompiler, makeFirmware } from "./firmware-build.ts";
import { Rp2040Chip } from "./rp2040-chip.ts";
import { readUf2 } from "./uf2.ts";

const UF2 = "estop_rp2040.uf2";
const NOT_SHOWN = /by brown_out/;
const WATCHDOG_MS = 15;
const TICK_MS = 0.25;
const BOOT_STAGE_BYTES = 252;
const SRAM_SIZE_BYTES = 0x4_0000;
const CASE_MS_MAX = 60_000;

const file = new Uint8Array(readFileSync(join(FIRMWARE, UF2)));
const image = readUf2(file);

/** A board whose host begins with a status, so that what one status shows is the same each time. */
function makeBoard(): ChipBoard {
  const board = new ChipBoard("rp2040js", (listener) => new Rp2040Chip(image, listener));
  while (board.takeReceived().length === 0) board.runUntil(board.nowUs + BYTE_US / 2);
  return board;
}

type Rig = { readonly board: ChipBoard; readonly chip: Rp2040Chip; readonly host: EstopHost };

function chipTest(name: string, run: (rig: Rig) => void): void {
  const body = () => {
    const board = makeBoard();
    run({ board, chip: board.chip as Rp2040Chip, host: new EstopHost(board) });
  };
  test(name, body, CASE_MS_MAX);
}

describe("committed image in rp2040js", () =>
  describeEstop(makeBoard, ({ name }) => !NOT_SHOWN.test(name)));

test("one behaviour alone is not shown", () => {
  expect(estopBehaviours.filter(({ name }) => NOT_SHOWN.test(name))).toHaveLength(1);
});

const hangs: readonly (readonly [string, Hang])[] = [
  ["its main loop", "main"],
  ["everything", "all"],
  ["its tick interrupt", "tick"],
];
for (const [what, kind] of hangs) {
  chipTest(
    `a chip that hangs with ${what} is reset by its watchdog, outputs open, and says so`,
    ({ board, chip, host }) => {
      host.arm();
      const fromUs = board.nowUs;
      chip.hang(kind);
      board.runUntil(fromUs + (WATCHDOG_MS + 1) * MS);
      expect([board.outputBits, chip.watchdogCount]).toEqual([0, 1]);
      const lateMs = (board.edges.at(-1)!.atUs - fromUs) / MS;
      expect(lateMs).toBeLessThanOrEqual(WATCHDOG_MS + TICK_MS);
      chip.cure();
      chip.reset(ResetFlag.Watchdog);
      host.pause(BOOT_MS * MS);
      expect([told(host), board.outputBits]).toEqual(["TRIPPED watchdog", 0]);
      host.arm();
      expect(board.outputBits).toBe(EstopOutput.Both);
    },
  );
}

chipTest("a healthy chip is never reset by its watchdog", ({ board, chip, host }) => {
  host.arm();
  host.beats(400);
  expect([chip.watchdogCount, chip.overrunCount, board.outputBits]).toEqual([0, 0, 3]);
});

const resets: readonly (readonly [number, EstopCause])[] = [
  [ResetFlag.PowerOn, EstopCause.PowerOn],
  [ResetFlag.BrownOut, EstopCause.PowerOn],
  [ResetFlag.Pin, EstopCause.ResetPin],
  [ResetFlag.Watchdog | ResetFlag.Pin, EstopCause.Watchdog],
];
for (const [flags, cause] of resets) {
  chipTest(`a reset with flags ${flags} is told as cause ${cause}`, ({ chip, host }) => {
    chip.reset(flags);
    host.pause(BOOT_MS * MS);
    expect([host.status.mode, host.status.cause]).toEqual([EstopMode.Tripped, cause]);
  });
}

chipTest("each boot draws another nonce", ({ chip, host }) => {
  const nonces = new Set<number>();
  for (let boot = 0; boot < 12; boot += 1) {
    host.pause(BOOT_MS * MS);
    nonces.add(host.status.bootNonce);
    chip.reset(ResetFlag.PowerOn);
  }
  expect(nonces.size).toBe(12);
});

chipTest("noise at the full line rate overruns nothing, and opens the outputs", (rig) => {
  const { board, chip, host } = rig;
  host.arm();
  const noise = Uint8Array.from({ length: 250 }, (_, at) => (at * 73 + 7) % 256);
  const before = host.statusCount;
  for (let period = 0; period < 40; period += 1) {
    board.send(noise);
    host.pause(5 * MS);
  }
  expect([board.outputBits, host.statusCount - before, host.brokenCount]).toEqual([0, 40, 0]);
  expect([host.status.mode, chip.watchdogCount, chip.overrunCount]).toEqual([
    EstopMode.Tripped,
    0,
    0,
  ]);
});

test("the second boot stage has the checksum that the boot ROM asks for", () => {
  let crc = 0xffff_ffff;
  for (const byte of image.subarray(0, BOOT_STAGE_BYTES)) {
    for (let bit = 7; bit >= 0; bit -= 1) {
      const isOdd = (crc >>> 31) ^ ((byte >> bit) & 1);
      crc = (crc << 1) ^ (isOdd === 1 ? 0x04c1_1db7 : 0);
    }
  }
  const kept = new DataView(image.buffer).getUint32(BOOT_STAGE_BYTES, true);
  expect(kept).toBe(crc >>> 0);
});

test("an image that is cut or changed in its blocks is refused", () => {
  expect(() => readUf2(file.subarray(1))).toThrow("whole blocks");
  for (const at of [0, 12, 20, 28, 508]) {
    const changed = file.slice();
    changed[512 + at]! ^= 1;
    expect(() => readUf2(changed)).toThrow("block 1 has");
  }
});

function committedSize(name: string): number {
  const text = readFileSync(join(FIRMWARE, "sizes.txt"), "utf8");
  return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1]);
}

chipTest("sizes.txt has the deepest stack of arming and faults", ({ chip, host }) => {
  host.arm();
  host.flags = EstopFlag.Stop;
  for (let beat = 0; beat < 10; beat += 1) host.beat(beat % 2 === 0 ? "burst" : "good");
  host.pause(400 * MS);
  host.flags = 0;
  host.arm();
  const ram = committedSize("rp2040_static_ram_bytes");
  const stack = SRAM_SIZE_BYTES - chip.untouchedCount - ram;
  expect(stack).toBe(committedSize("rp2040_stack_bytes"));
});

test.skipIf(!hasArmCompiler)(
  "the committed image is what arm-none-eabi-gcc makes of the sources",
  () => {
    makeFirmware("rp2040");
    expect(readFileSync(join(FIRMWARE_OUT, UF2)).equals(file)).toBe(true);
    const elf = join(FIRMWARE_OUT, "estop_rp2040.elf");
    const rows = Bun.spawnSync(["arm-none-eabi-size", "-A", elf]).stdout.toString();
    const sizeOf = (section: string): number =>
      Number(new RegExp(`^\\.${section} +(\\d+)`, "m").exec(rows)?.[1]);
    // The code is in both: it is brought to SRAM.
    expect([
      sizeOf("boot") + sizeOf("start") + sizeOf("text"),
      sizeOf("text") + sizeOf("bss"),
    ]).toEqual([committedSize("rp2040_flash_bytes"), committedSize("rp2040_static_ram_bytes")]);
  },
  CASE_MS_MAX,
);

test.skipIf(!hasArmCompiler)(
  "a keyed image arms with its key",
  () => {
    const out = join(FIRMWARE_OUT, "keyed");
    makeFirmware("rp2040", `OUT=${out}`, "KEYED=1", "KEY={1,2,3,4,5,6,7,8}");
    const keyed = readUf2(new Uint8Array(readFileSync(join(out, UF2))));
    const board = new ChipBoard("keyed", (listener) => new Rp2040Chip(keyed, listener));
    const host = new EstopHost(board, Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8));
    host.arm();
    expect([board.outputBits, host.status.build]).toEqual([EstopOutput.Both, 6]);
  },
  CASE_MS_MAX,
);
