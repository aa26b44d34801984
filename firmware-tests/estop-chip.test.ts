// What only a chip can show: its watchdog, its resets, its memory, its line at full speed. Runs the
// committed images in the emulator; where avr-gcc is installed, they are built anew and compared.

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { EstopCause, EstopFlag, EstopMode, EstopOutput } from "../runtime/contracts/estop-codes.ts";
import { estopCauseNames, estopModeNames } from "../runtime/contracts/estop-codes.ts";
import { AvrBoard, committedImage } from "./avr-board.ts";
import { ResetFlag } from "./avr-chip.ts";
import { EstopHost } from "./estop-host.ts";
import { FIRMWARE, FIRMWARE_OUT, hasAvrCompiler, makeFirmware } from "./firmware-build.ts";
import { IntelHexError, readIntelHex } from "./intel-hex.ts";

const MS = 1_000;
const BOOT_MS = 60;
/** Nominal, as both emulators model it; the oscillator of a real chip is off by up to a tenth. */
const WATCHDOG_MS = 16;
/** A tick that was already due is still done, and feeds the watchdog once more. */
const LAST_TICK_MS = 0.3;
const SRAM_SIZE_BYTES = 2048;
const image = committedImage("estop_m328p.hex");

type Rig = { readonly board: AvrBoard; readonly host: EstopHost };

function rig(of = image): Rig {
  const board = new AvrBoard(of);
  return { board, host: new EstopHost(board) };
}

function armedRig(of = image): Rig {
  const made = rig(of);
  made.host.arm();
  return made;
}

const told = ({ status }: EstopHost): string =>
  `${estopModeNames[status.mode]} ${estopCauseNames[status.cause]}`;

describe("a chip that hangs", () => {
  const hangs: [string, (board: AvrBoard) => void][] = [
    ["its main loop", (board) => board.hangMain()],
    ["everything", (board) => board.hangAll()],
    ["its tick interrupt", (board) => board.hangTick()],
  ];
  test.each(hangs)("%s: the watchdog opens both outputs, and the chip says so", (_, hang) => {
    const { board, host } = armedRig();
    const code = board.chip.flash.slice();
    const fromUs = board.nowUs;
    hang(board);
    board.runUntil(fromUs + (WATCHDOG_MS + 1) * MS);
    const lateMs = (board.edges.at(-1)!.atUs - fromUs) / MS;
    expect([board.outputs, board.chip.watchdogCount]).toEqual([0, 1]);
    expect(lateMs).toBeLessThanOrEqual(WATCHDOG_MS + LAST_TICK_MS);
    board.chip.flash.set(code); // the reset cured it
    host.pause(BOOT_MS * MS);
    expect([told(host), board.outputs]).toEqual(["TRIPPED watchdog", 0]);
    host.arm();
    expect(board.outputs).toBe(EstopOutput.Both);
  });

  test("a chip that hangs for good stays in reset after reset with its outputs open", () => {
    const { board } = armedRig();
    board.hangMain();
    const stuck = board.edges.length + 1;
    board.runUntil(board.nowUs + 500 * MS);
    expect([board.outputs, board.edges.length]).toEqual([0, stuck]);
  });
});

describe("a reset", () => {
  test.each([
    [ResetFlag.PowerOn | ResetFlag.BrownOut, EstopCause.PowerOn],
    [ResetFlag.BrownOut, EstopCause.BrownOut],
    [ResetFlag.Pin, EstopCause.ResetPin],
    [ResetFlag.Watchdog | ResetFlag.Pin, EstopCause.Watchdog],
  ])("with flags %d is told as cause %d", (flags, cause) => {
    const { board, host } = rig();
    board.chip.reset(flags);
    host.pause(BOOT_MS * MS);
    expect([host.status.mode, host.status.cause]).toEqual([EstopMode.Tripped, cause]);
  });

  test("whose flags a bootloader took and handed over in r2 is told all the same", () => {
    const { board, host } = rig();
    board.chip.reset(0);
    board.chip.cpu.data[2] = ResetFlag.Watchdog;
    host.pause(BOOT_MS * MS);
    expect(told(host)).toBe("TRIPPED watchdog");
  });

  test("gives another nonce each time, also when power fails while the boot is counted", () => {
    const { board, host } = rig();
    const nonces = new Set<number>();
    for (let boot = 0; boot < 12; boot += 1) {
      host.pause(BOOT_MS * MS);
      nonces.add(host.status.bootNonce);
      board.chip.reset(ResetFlag.PowerOn);
      // Power fails again after this long, somewhere within the 30 ms of the count.
      board.runUntil(board.nowUs + boot * 2.7 * MS);
      board.chip.reset(ResetFlag.PowerOn);
    }
    expect(nonces.size).toBe(12);
  });

  test("that comes in the middle of a frame costs one frame and no more", () => {
    const { board, host } = rig();
    host.pause(BOOT_MS * MS);
    host.beats(10);
    board.send(Uint8Array.from([0x17, 0x02, 0x01, 0x44]));
    const before = host.status.badCount;
    host.beats(4);
    expect([host.status.badCount - before, host.status.failCount]).toEqual([1, 0]);
  });
});

describe("the line", () => {
  test("a flood of noise keeps the outputs open, and the chip on time and talking", () => {
    const { board, host } = armedRig();
    const noise = Uint8Array.from({ length: 250 }, (_, at) => (at * 73 + 7) % 256);
    const before = host.statusCount;
    for (let period = 0; period < 40; period += 1) {
      board.send(noise);
      host.pause(5 * MS);
    }
    expect([board.outputs, host.statusCount - before, host.brokenCount]).toEqual([0, 40, 0]);
    expect([host.status.mode, board.chip.watchdogCount]).toEqual([EstopMode.Tripped, 0]);
    host.arm();
    expect([board.outputs, board.chip.overrunCount]).toEqual([EstopOutput.Both, 0]);
  });

  test("the image for emulated boards has a T_wd of 100 ms and is otherwise the same", () => {
    const emulated = committedImage("estop_m328p_emulated.hex");
    const { board, host } = armedRig(emulated);
    const { silenceMs, stopMs, cutDelayMs, discrepancyMs, build } = host.status;
    expect([silenceMs, stopMs, cutDelayMs, discrepancyMs, build]).toEqual([100, 300, 0, 100, 4]);
    host.beat();
    host.pause(110 * MS);
    const lateMs = (board.edges.at(-1)!.atUs - host.lastBeatUs) / MS - 100;
    expect([told(host), lateMs > -0.3, lateMs < 1]).toEqual(["TRIPPED silence", true, true]);
    expect(emulated.filter((byte, at) => byte !== image[at]).length).toBeLessThanOrEqual(2);
  });
});

/** `name value` lines of sizes.txt. */
function committedSizes(): Record<string, number> {
  const lines = readFileSync(join(FIRMWARE, "sizes.txt"), "utf8").trim().split("\n");
  return Object.fromEntries(
    lines.map((line) => {
      const [name, value] = line.split(/\s+/) as [string, string];
      return [name, Number(value)];
    }),
  );
}

test("sizes.txt is what the image takes: flash, and the deepest stack over arming and faults", () => {
  const { board, host } = armedRig();
  host.flags = EstopFlag.Stop;
  for (let beat = 0; beat < 10; beat += 1) host.beat(beat % 2 === 0 ? "burst" : "good");
  host.pause(400 * MS);
  host.flags = 0;
  host.arm();
  const sizes = committedSizes();
  const flash = image.findLastIndex((byte) => byte !== 0xff) + 1;
  const stack = SRAM_SIZE_BYTES - board.chip.untouchedCount - sizes["static_ram_bytes"]!;
  expect([flash, stack]).toEqual([sizes["flash_bytes"]!, sizes["stack_bytes"]!]);
  expect(sizes["static_ram_bytes"]! + stack).toBeLessThan(SRAM_SIZE_BYTES / 2);
});

test.skipIf(!hasAvrCompiler)("the committed images are what avr-gcc makes of the sources", () => {
  makeFirmware("m328p");
  const size = Bun.spawnSync(["avr-size", join(FIRMWARE_OUT, "estop_m328p.elf")]).stdout.toString();
  const [, data, bss] = size.trim().split("\n")[1]!.trim().split(/\s+/).map(Number) as number[];
  expect(data! + bss!).toBe(committedSizes()["static_ram_bytes"]!);
  for (const name of ["estop_m328p.hex", "estop_m328p_emulated.hex"]) {
    const built = readFileSync(join(FIRMWARE_OUT, name), "utf8");
    expect([name, built === readFileSync(join(FIRMWARE, name), "utf8")]).toEqual([name, true]);
  }
});

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
    const error = new IntelHexError(line, why);
    expect(() => readIntelHex(text, flash)).toThrow(error);
  }
});
