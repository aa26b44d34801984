// `holdfast estop flash` whole, over a pseudo-terminal with a boot loader behind it that behaves as
// optiboot does: the bytes that end up in its flash are the image's and boot as an e-stop, and each
// way in which flashing can fail has its message and its exit code.

import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AvrChip } from "../drivers/estop/avr-chip.ts";
import { WIRING } from "../drivers/estop/wiring.ts";
import { Pty } from "../hal/ffi/pty.ts";
import { baudOf, openSerial } from "../hal/ffi/serial.ts";
import { FakeTerminal, fakeContext } from "../runtime/cli/fixture.ts";
import { runProgram } from "../runtime/cli/program.ts";
import { ChipBoard, imageAt } from "./chip-board.ts";
import { Bootloader } from "./estop-flash-bootloader.ts";
import type { BootloaderFaults } from "./estop-flash-bootloader.ts";
import { EstopHost } from "./estop-host.ts";
import { BOOT_MS, MS, told } from "./estop-rig.ts";
import { FIRMWARE } from "./firmware-build.ts";

const HEX = join(FIRMWARE, "estop_m328p.hex");
const OPTIBOOT_BAUD = 115_200;
const OLD_NANO_BAUD = 57_600;
/** Both bauds are tried five times where no reset is possible. */
setDefaultTimeout(60_000);

const root = mkdtempSync(join(tmpdir(), "holdfast-flash-"));
afterAll(() => rmSync(root, { recursive: true }));

/** A board on a port: what is sent at another baud is not understood. */
class Board {
  readonly pty = new Pty();
  readonly bootloader: Bootloader;
  readonly #baud: number;
  #isOpen = true;

  constructor(baud: number, faults?: BootloaderFaults) {
    this.#baud = baud;
    this.bootloader = new Bootloader(faults);
  }

  /** Answers until it is unplugged. `unplugAt` names the request before which that happens. */
  async live(unplugAt?: string): Promise<void> {
    while (this.#isOpen) {
      const { device } = this.pty;
      const count = device.read();
      const isHeard = count > 0 && baudOf(device) === this.#baud;
      const bytes = isHeard ? device.received.slice(0, count) : new Uint8Array(0);
      const replies = Uint8Array.from(this.bootloader.take(bytes));
      if (unplugAt !== undefined && this.bootloader.heard.includes(unplugAt)) this.unplug();
      else if (replies.length > 0) device.write(replies, replies.length);
      await Bun.sleep(0);
    }
  }

  unplug(): void {
    if (this.#isOpen) this.pty.close();
    this.#isOpen = false;
  }
}

type Flashed = { readonly code: number; readonly out: string; readonly err: string };

async function command(args: readonly string[], typed?: string): Promise<Flashed> {
  const keyboard = typed === undefined ? undefined : new FakeTerminal();
  const context = fakeContext({ keyboard });
  const run = runProgram(["estop", "flash", ...args], context);
  if (typed !== undefined) {
    while (!context.out.text.includes("to go on")) await Bun.sleep(0);
    keyboard!.type(typed);
  }
  const code = await run;
  return { code, out: context.out.text, err: context.err.text };
}

async function flash(board: Board, ...more: string[]): Promise<Flashed> {
  const life = board.live();
  const flashed = await command([board.pty.path, "--yes", ...more]);
  board.unplug();
  await life;
  return flashed;
}

function bootOf(flash: Uint8Array): string {
  const board = new ChipBoard("flashed", (listener) => new AvrChip(flash, listener));
  const host = new EstopHost(board);
  host.pause(BOOT_MS * MS);
  return told(host);
}

test("the shipped image lands in the flash as it is, and boots as an e-stop", async () => {
  const board = new Board(OPTIBOOT_BAUD);
  const { code, out, err } = await flash(board);
  expect([code, err]).toEqual([0, ""]);
  expect(board.bootloader.flash).toEqual(imageAt(HEX));
  expect(board.bootloader.isLeft).toBe(true);
  expect(bootOf(board.bootloader.flash)).toBe("TRIPPED power_on");
  expect(out.slice(out.indexOf(WIRING) + WIRING.length).split("\n")).toEqual([
    "",
    "no reset by this port: press the board's reset button now",
    "boot loader found at 115200 baud",
    "writes 9002 bytes",
    "reads them back",
    "flashed 9002 bytes, all read back right; go on with " +
      `holdfast run --estop ${board.pty.path}`,
    "",
  ]);
});

test("an older Nano is found at its baud, behind what its e-stop still says", async () => {
  const board = new Board(OLD_NANO_BAUD, { chatter: [0, 43, 0x14, 7, 0] });
  const { code, out } = await flash(board, "--image", HEX);
  expect([code, out.includes("found at 57600 baud")]).toEqual([0, true]);
  expect(board.bootloader.flash).toEqual(imageAt(HEX));
});

test("flashing waits until the port is typed, and any other word ends it", async () => {
  const board = new Board(OPTIBOOT_BAUD);
  const other = await command([board.pty.path], "yes\n");
  expect([other.code, other.err]).toEqual([
    2,
    `holdfast: Cannot use estop flash: expected "${board.pty.path}" to be typed, found "yes"\n`,
  ]);
  expect(board.pty.device.read()).toBe(0);
  const life = board.live();
  const same = await command([board.pty.path], `${board.pty.path}\n`);
  expect([same.code, same.err]).toEqual([0, ""]);
  board.unplug();
  await life;
});

test("without a terminal and without --yes nothing is opened", async () => {
  expect(await command(["/dev/none"])).toMatchObject({
    code: 2,
    err:
      "holdfast: Cannot use estop flash: " +
      "expected --yes where nobody can be asked, found no terminal\n",
  });
});

const AFTER = ": the board holds no whole e-stop now; flash it again before it gets power";
/** A byte of the image, and how it is told. */
const WRITTEN = imageAt(HEX)[0x123]!;
const hexByte = (byte: number): string => `0x${byte.toString(16).padStart(2, "0")}`;
const failures: readonly (readonly [string, BootloaderFaults, string])[] = [
  [
    "another chip",
    { signature: [0x1e, 0x95, 0x14] },
    "Cannot flash this chip: expected signature 1E 95 0F of an ATmega328P, found 1E 95 14",
  ],
  [
    "a byte that doesn't keep its value",
    { wornIndex: 0x0123 },
    `Cannot verify the flash at 0x0123: expected ${hexByte(WRITTEN)}, ` +
      `found ${hexByte(WRITTEN ^ 1)}${AFTER}`,
  ],
  [
    "a boot loader that stops to answer",
    { answerCount: 4 },
    `Cannot write the page at 0x0000: no answer for 1000 ms${AFTER}`,
  ],
];
for (const [what, faults, message] of failures) {
  test(`${what} is told, and is exit code 1`, async () => {
    const { code, err } = await flash(new Board(OPTIBOOT_BAUD, faults));
    expect([code, err]).toEqual([1, `holdfast: ${message}\n`]);
  });
}

test("another chip keeps its flash", async () => {
  const board = new Board(OPTIBOOT_BAUD, { signature: [0x1e, 0x94, 0x06] });
  await flash(board);
  expect(board.bootloader.flash.every((byte) => byte === 0xff)).toBe(true);
});

test("a port that vanishes under way is told, and is exit code 1", async () => {
  const board = new Board(OPTIBOOT_BAUD);
  const life = board.live("t");
  const { path } = board.pty;
  const { code, err } = await command([path, "--yes"]);
  await life;
  expect([code, err]).toEqual([
    1,
    `holdfast: Cannot read the page at 0x0000 back: "${path}" has vanished${AFTER}\n`,
  ]);
});

test("a port where nothing answers is told with what to look at, and is exit code 1", async () => {
  const board = new Board(OPTIBOOT_BAUD, { answerCount: 0 });
  const { code, err } = await flash(board);
  expect(code).toBe(1);
  expect(err).toBe(
    `holdfast: Cannot find a boot loader on "${board.pty.path}": ` +
      "nothing answers at 115200 or 57600 baud. " +
      "Is it an Uno or Nano, is its cable a data cable, does another board have this port?\n",
  );
});

test("a port that another program has, or that isn't there, is bad input", async () => {
  const pty = new Pty();
  const line = openSerial(pty.path, OPTIBOOT_BAUD);
  const busy = await command([pty.path, "--yes"]);
  expect([busy.code, busy.err]).toEqual([
    2,
    `holdfast: Cannot open "${pty.path}": the kernel says EBUSY: another program has it\n`,
  ]);
  line.close();
  pty.close();
  const missing = await command([join(root, "none"), "--yes"]);
  expect([missing.code, missing.err]).toEqual([
    2,
    `holdfast: Cannot open "${join(root, "none")}": the kernel says ENOENT\n`,
  ]);
});

test("an image that is none, or too large, is bad input before anything is shown", async () => {
  const end = ":00000001FF\n";
  const images: readonly (readonly [string, string])[] = [
    ["hello\n", "line 1: expected a colon and pairs of hex digits"],
    [readFileSync(HEX, "latin1").slice(0, -14), "line 564: no end record"],
    [`:017800000087\n${end}`, "line 1: the flash ends before"],
    [end, "no data in it"],
  ];
  for (const [text, why] of images) {
    const file = join(root, "image.hex");
    writeFileSync(file, text);
    const { code, out, err } = await command(["/dev/none", "--yes", "--image", file]);
    expect([code, out, err.includes("Cannot use --image: "), err.includes(why)]).toEqual([
      2,
      "",
      true,
      true,
    ]);
  }
  const { code, err } = await command(["/dev/none", "--image", join(root, "no.hex")]);
  expect([code, err]).toEqual([
    2,
    "holdfast: Cannot use --image: expected m328p, or an Intel HEX file, found ENOENT at " +
      `"${join(root, "no.hex")}"\n`,
  ]);
});

test("the driver's README has the drawing that people are shown", () => {
  const readme = readFileSync(join(import.meta.dir, "../drivers/estop/README.md"), "utf8");
  expect(readme).toContain(WIRING);
});
