// Text output to a terminal. A terminal that stops reading (a stalled connection, Ctrl-S) would
// block the whole main thread in a write, with every stop and signal behind it: so nothing is
// written before the kernel said that there is room, and through an opening of the terminal that
// does not block, since a little room is called room too. The shell's own opening keeps its flags.
//
// What does not fit is dropped, and its lines are counted exactly: each is shown whole or told once
// as not shown. Only what is written to the end of a command may wait, and that for one second in
// all.

import { constants, openSync, writeSync } from "node:fs";
import { COLUMN_COUNT_DEFAULT, wantsColour } from "./output.ts";
import type { Environment, TextOut } from "./output.ts";

/** Whether a descriptor takes bytes, now or within a time. */
export type CanWrite = (fd: number, waitMs: number) => boolean;

/** Writes some of these bytes from `from` on, and says how many; as `writeSync` throws. */
export type WriteSome = (fd: number, bytes: Buffer, from: number, sizeBytes: number) => number;

/** What a terminal's stream knows of its width. */
type Columned = { readonly columns: number };

/** Little at once, for a terminal that cannot be opened again and may block. */
const PIECE_SIZE_BYTES = 120;
const WAIT_MS = 50;
const WAIT_COUNT_MAX = 20;
const NEWLINE = 10;
const NOTHING = Buffer.alloc(0);

/** The patience that this process has with its terminal, one for all its outputs. */
export class TerminalRoom {
  readonly writeSome: WriteSome;
  readonly #canWrite: CanWrite;
  #waitCount = 0;

  constructor(canWrite: CanWrite, writeSome: WriteSome = writeSync) {
    this.#canWrite = canWrite;
    this.writeSome = writeSome;
  }

  isFree(fd: number): boolean {
    return this.#canWrite(fd, 0);
  }

  /** Waits for room as long as there is patience left. */
  isFreeInTime(fd: number): boolean {
    let isFree = this.isFree(fd);
    for (; !isFree && this.#waitCount < WAIT_COUNT_MAX; this.#waitCount += 1) {
      isFree = this.#canWrite(fd, WAIT_MS);
    }
    return isFree;
  }
}

export class TerminalOut implements TextOut {
  readonly #fd: number;
  readonly #stream: Columned;
  readonly #room: TerminalRoom;
  readonly #wantsColour: boolean;
  #isGone = false;
  /** What went out last does not end a line. */
  #isInLine = false;
  /** The last text that was written ends somewhere inside. */
  #isCut = false;
  #lostLineCount = 0;
  /** The rest of a notice that has begun: its count is out, so it says nothing of later losses. */
  #notice: Buffer = NOTHING;

  constructor(fd: number, stream: Columned, environment: Environment, room: TerminalRoom) {
    this.#fd = reopened(fd);
    this.#stream = stream;
    this.#room = room;
    this.#wantsColour = wantsColour(environment);
  }

  get isTerminal(): boolean {
    return !this.#isGone;
  }
  get hasColour(): boolean {
    return this.isTerminal && this.#wantsColour;
  }
  get columnCount(): number {
    return this.#stream.columns || COLUMN_COUNT_DEFAULT;
  }

  write(text: string): void {
    this.#put(text, () => this.#room.isFreeInTime(this.#fd));
  }

  writeIfRoom(text: string): void {
    this.#put(text, () => this.#room.isFree(this.#fd));
  }

  flush(): Promise<boolean> {
    return Promise.resolve(!this.#isGone && !this.#owesNotice && this.#notice.length === 0);
  }

  get #owesNotice(): boolean {
    return this.#isCut || this.#lostLineCount > 0;
  }

  #put(text: string, hasRoom: () => boolean): void {
    const bytes = Buffer.from(text);
    const sent = this.#tellLoss(hasRoom) ? this.#send(bytes, hasRoom) : 0;
    if (sent === bytes.length) return;
    // A line of which only the end is missing is whole: the notice ends it.
    const isTold = this.#notice.length > 0 || this.#owesNotice;
    const isWhole = this.#isInLine && !isTold && bytes[sent] === NEWLINE;
    this.#isCut ||= sent > 0 || isWhole;
    this.#lostLineCount += lineCount(bytes.subarray(sent)) - (isWhole ? 1 : 0);
  }

  /** Tells what was lost. True once nothing of that is left to tell. */
  #tellLoss(hasRoom: () => boolean): boolean {
    while (this.#notice.length > 0 || this.#owesNotice) {
      const isNew = this.#notice.length === 0;
      const notice = isNew ? Buffer.from(lostText(this.#lostLineCount)) : this.#notice;
      const sent = this.#send(notice, hasRoom);
      if (sent === 0) return false;
      this.#notice = notice.subarray(sent);
      if (isNew) {
        this.#isCut = false;
        this.#lostLineCount = 0;
      }
      if (this.#notice.length > 0) return false;
    }
    return true;
  }

  /** Writes piece by piece while there is room, and returns how many bytes went out. */
  #send(bytes: Buffer, hasRoom: () => boolean): number {
    let sent = 0;
    while (sent < bytes.length && !this.#isGone && hasRoom()) {
      try {
        sent += this.#room.writeSome(this.#fd, bytes, sent, pieceEnd(bytes, sent) - sent);
      } catch (cause) {
        if (!(cause instanceof Error)) throw cause;
        // Somebody else filled it in between; anything else is its end.
        const { code = "" } = cause as NodeJS.ErrnoException;
        if (code !== "EAGAIN" && code !== "EINTR") this.#isGone = true;
        break;
      }
    }
    if (sent > 0) this.#isInLine = bytes[sent - 1] !== NEWLINE;
    return sent;
  }
}

/** The same terminal without blocking; itself where it may not be opened. */
function reopened(fd: number): number {
  const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants;
  try {
    return openSync(`/proc/self/fd/${fd}`, O_WRONLY | O_NONBLOCK | O_NOCTTY);
  } catch {
    return fd; // another user's terminal: what can be known is asked before each piece
  }
}

/** Where a piece ends: a letter of several bytes stays whole. */
function pieceEnd(bytes: Buffer, from: number): number {
  let end = Math.min(from + PIECE_SIZE_BYTES, bytes.length);
  while (end < bytes.length && (bytes[end]! & 0xc0) === 0x80) end -= 1;
  return end;
}

const lineCount = (bytes: Buffer): number => bytes.filter((byte) => byte === NEWLINE).length;

function lostText(count: number): string {
  const lines = count === 1 ? "line" : "lines";
  return count === 0 ? "\r\n" : `\r\n… ${count} ${lines} not shown\r\n`;
}
