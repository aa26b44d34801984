// Flashes an e-stop board through its boot loader: resets it by DTR, finds which boot loader it
// has, and runs the session of `drivers/estop/stk500.ts` over the line. It waits by counting short
// sleeps, so a slow machine only makes it more patient.

import { DeviceError, GONE } from "../../hal/ffi/file-descriptor.ts";
import type { FileDescriptor } from "../../hal/ffi/file-descriptor.ts";
import { openSerial, setDtr } from "../../hal/ffi/serial.ts";
import { flashSession, getSync, holdsSync } from "../../drivers/estop/stk500.ts";
import { ReplyReader, Stk500Error } from "../../drivers/estop/stk500.ts";
import type { Exchange } from "../../drivers/estop/stk500.ts";

/** optiboot of Uno and newer Nanos, then the boot loader of older Nanos. */
const BAUDS = [115_200, 57_600] as const;
/** The boot loader listens for one to two seconds after a reset. */
const SYNC_TRIES = 6;
const SYNC_MS = 100;
const RESET_PULSE_MS = 50;
/** A page takes 5 ms to write and up to 25 ms on the line. */
const REPLY_MS_MAX = 1_000;
/** How often both bauds are tried: longer where a person must press the reset. */
const ROUNDS = { withDtr: 2, byHand: 5 } as const;

/** Why a board could not be flashed, after its port was opened. */
export class FlashError extends Error {
  override readonly name = "FlashError";
}

/** Flashes and verifies. `tell` gets each step as a line. Throws FlashError or DeviceError. */
export async function flashBoard(
  path: string,
  image: Uint8Array,
  tell: (text: string) => void,
): Promise<void> {
  const line = await findBootloader(path, tell);
  try {
    await runSession(line, image, tell);
  } finally {
    line.close();
  }
}

async function findBootloader(path: string, tell: (text: string) => void): Promise<FileDescriptor> {
  let isByHand = false;
  for (let round = 0; round < (isByHand ? ROUNDS.byHand : ROUNDS.withDtr); round += 1) {
    for (const baud of BAUDS) {
      const line = openSerial(path, baud);
      const isReset = await pulseReset(line);
      if (!isReset && !isByHand) tell("no reset by this port: press the board's reset button now");
      isByHand ||= !isReset;
      if (await isInSync(line)) {
        tell(`boot loader found at ${baud} baud`);
        return line;
      }
      line.close();
    }
  }
  throw new FlashError(
    `Cannot find a boot loader on "${path}": nothing answers at ${BAUDS.join(" or ")} baud. ` +
      "Is it an Uno or Nano, is its cable a data cable, does another board have this port?",
  );
}

/** Opening has raised DTR; dropped and raised again it resets the board. False without DTR. */
async function pulseReset(line: FileDescriptor): Promise<boolean> {
  try {
    setDtr(line, false);
    await Bun.sleep(RESET_PULSE_MS);
    setDtr(line, true);
    await Bun.sleep(RESET_PULSE_MS);
    return true;
  } catch (cause) {
    if (!(cause instanceof DeviceError)) throw cause;
    return false;
  }
}

/** Asks until it answers, then lets late answers to the same question pass. */
async function isInSync(line: FileDescriptor): Promise<boolean> {
  for (let attempt = 0; attempt < SYNC_TRIES; attempt += 1) {
    await write(line, getSync);
    const heard: number[] = [];
    for (let waited = 0; waited < SYNC_MS; waited += 1) {
      heard.push(...(await read(line, getSync)));
      if (!holdsSync(heard)) continue;
      while ((await read(line, getSync)).length > 0);
      return true;
    }
  }
  return false;
}

async function runSession(
  line: FileDescriptor,
  image: Uint8Array,
  tell: (text: string) => void,
): Promise<void> {
  const session = flashSession(image);
  let told = "";
  let hasWritten = false;
  try {
    for (let step = session.next(); step.done !== true; ) {
      const { act } = step.value;
      const [verb = ""] = act.split(" ");
      if (told !== verb && verb === "write") tell(`writes ${image.length} bytes`);
      if (told !== verb && act.endsWith("back")) tell("reads them back");
      if (verb !== "load") told = verb;
      hasWritten ||= verb === "write";
      step = session.next(await reply(line, step.value));
    }
  } catch (cause) {
    if (!(cause instanceof FlashError || cause instanceof Stk500Error)) throw cause;
    const after = ": the board holds no whole e-stop now; flash it again before it gets power";
    throw new FlashError(`${cause.message}${hasWritten ? after : ""}`, { cause });
  }
}

async function reply(line: FileDescriptor, exchange: Exchange): Promise<Uint8Array> {
  const reader = new ReplyReader(exchange);
  await write(line, exchange);
  try {
    for (let quietMs = 0; quietMs < REPLY_MS_MAX; quietMs += 1) {
      const bytes = await read(line, exchange);
      const data = reader.take(bytes);
      if (data !== undefined) return data;
      if (bytes.length > 0) quietMs = 0;
    }
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new FlashError(`Cannot ${exchange.act}: ${cause.message}`, { cause });
  }
  throw new FlashError(`Cannot ${exchange.act}: no answer for ${REPLY_MS_MAX} ms`);
}

async function write(line: FileDescriptor, { request, act }: Exchange): Promise<void> {
  for (let at = 0; at < request.length; ) {
    const rest = request.subarray(at);
    const count = line.write(rest, rest.length);
    if (count === GONE) throw gone(line, act);
    if (count === 0) await Bun.sleep(1);
    at += count;
  }
}

/** What is there; nothing after a millisecond without anything. */
async function read(line: FileDescriptor, { act }: Exchange): Promise<Uint8Array> {
  const count = line.read();
  if (count === GONE) throw gone(line, act);
  if (count === 0) await Bun.sleep(1);
  return line.received.slice(0, count);
}

const gone = ({ path }: FileDescriptor, act: string): FlashError =>
  new FlashError(`Cannot ${act}: "${path}" has vanished`);
