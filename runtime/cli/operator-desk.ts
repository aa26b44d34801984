// The operator's place at a run: keys, signals, socket, page and status line on one handle. Nothing
// here can fail a run: whatever cannot be opened is told once and left out. It stands before the
// run has a handle, so that a stop or a Ctrl-C while threads still load is not lost.

import { ConsoleServer } from "../console/server.ts";
import { mayMove, Mode } from "../contracts/mode.ts";
import type { ModeChange } from "../record/mode-story.ts";
import { ChangeLines } from "./change-lines.ts";
import type { CommandContext } from "./command-context.ts";
import { changeText, commandWords, keyWords } from "./hint.ts";
import { keyHelp, TerminalKeys } from "./keys.ts";
import type { KeyName } from "./keys.ts";
import { sweepLeftBehind } from "./left-behind.ts";
import { OperatorSocket } from "./operator-socket.ts";
import type { TextOut } from "./output.ts";
import type { CueAnswer, RunHandle } from "./run-handle.ts";
import { RuntimeFolderError } from "./runtime-folder.ts";
import { ignoredSignals, oncePerAct, watchSignals } from "./signals.ts";
import { StatusLine } from "./status-line.ts";
import { toldHandle } from "./told-handle.ts";
import { ExitCode } from "./usage.ts";

const STATUS_PERIOD_MS = 1_000;

export type DeskPlace = {
  /** The first one that the page tries. */
  readonly port: number;
  /** There is an e-stop that a key presses. */
  readonly hasButton: boolean;
};

export class OperatorDesk {
  readonly #context: CommandContext;
  readonly #line: StatusLine;
  readonly #changes = new ChangeLines("change");
  /** Cues from elsewhere. */
  readonly #requests = new ChangeLines("request");
  readonly #place: DeskPlace;
  readonly #keys: TerminalKeys | undefined;
  #handle: RunHandle | undefined;
  #socket: OperatorSocket | undefined;
  #page: ConsoleServer | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;
  #isEnding = false;
  readonly #endAsked = Promise.withResolvers<void>();
  #isStopAsked = false;
  #isLetGo = false;
  /** A log may have other readers: what they must not know is told on a terminal only. */
  readonly #isPrivate: boolean;
  #isClosed = false;

  constructor(context: CommandContext, out: TextOut, place: DeskPlace) {
    this.#context = context;
    const { keyboard, program, pid } = context;
    this.#line = new StatusLine(
      out,
      keyboard === undefined ? commandWords(program, pid) : keyWords,
    );
    this.#place = place;
    this.#isPrivate = out.isTerminal;
    const hear = oncePerAct(() => this.#hearSignal());
    watchSignals(context.signals, ignoredSignals(), hear);
    this.#keys =
      keyboard === undefined ? undefined : new TerminalKeys(keyboard, (key) => this.#act(key));
  }

  /** Opens the ways in. Called once, when the run can be spoken to. */
  attach(handle: RunHandle): void {
    this.#handle = handle;
    if (this.#isStopAsked) handle.stop();
    if (this.#isEnding) handle.quit();
    this.#openSocket(this.#toldBy("another terminal", handle));
    this.#openPage(this.#toldBy("the page", handle));
    if (this.#keys !== undefined) this.note(this.#keyHelp);
    this.#show();
    this.#timer = setInterval(() => this.#endPeriod(), STATUS_PERIOD_MS);
  }

  /** Resolves when a person asked for the end. */
  get endAsked(): Promise<void> {
    return this.#endAsked.promise;
  }

  /** Writes a line for a person. */
  note(text: string): void {
    this.#line.note(text);
  }

  /** Writes that the mode changed, unless too many such lines came at once. */
  tellChange(change: ModeChange, firstNs: number): void {
    if (change.fromMode === -1 && change.toMode === Mode.Starting) return; // the hint says it
    const lines = this.#changes.add(changeText(change, firstNs), !mayMove(change.toMode));
    for (const line of lines) this.note(line);
    if (lines.length > 0) this.#show();
  }

  /**
   * Gives everything back, the terminal first. May be called again. Signals are heard until the
   * process ends: one that comes while it reports must not kill it.
   */
  close(): void {
    this.#isClosed = true;
    this.#keys?.close();
    clearInterval(this.#timer);
    this.#tellMore();
    this.#line.end();
    this.#socket?.close();
    this.#page?.close();
    this.#socket = undefined;
    this.#page = undefined;
  }

  get #keyHelp(): string {
    return keyHelp(this.#place.hasButton);
  }

  #act(key: KeyName): void {
    if (key === "help") this.note(this.#keyHelp);
    else if (key === "quit") this.#quit();
    else if (key === "interrupt") this.#end();
    else if (this.#handle !== undefined) this.#tell(this.#handle[key]());
    else this.#actEarly(key);
  }

  /** A stop is kept for the run that is still being set up; nothing else is. */
  #actEarly(key: KeyName): void {
    this.#isStopAsked ||= key === "stop";
    const answer = key === "stop" ? "it will start stopped" : "not yet";
    this.note(`${key}: the run is still being set up, ${answer}`);
  }

  #hearSignal(): void {
    if (!this.#isClosed) this.#end();
    else if (this.#isEnding) this.#leave();
    this.#isEnding = true; // a run that is over ends without being asked
  }

  /** An answer without a name is to a key of this terminal. */
  #toldBy(who: string, handle: RunHandle): RunHandle {
    return toldHandle(handle, ({ text }) => {
      const lines = this.#requests.add(`${who}: ${text}`, false);
      for (const line of lines) this.note(line);
      if (lines.length > 0) this.#show();
    });
  }

  #tell(answer: CueAnswer): void {
    this.note(answer.text);
    this.#show();
  }

  /** Asks once for an end under control. */
  #quit(): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    this.#endAsked.resolve();
    const again = this.#keys === undefined ? "another signal" : "Ctrl-C";
    const isParked = this.#handle?.parks === true;
    this.note(
      isParked
        ? `ending under control: parks the robot, then lets go; ${again} lets go at once`
        : `ending under control; ${again} leaves at once`,
    );
    this.#handle?.quit();
  }

  /** The first time asks; the next lets go of a robot that is being parked; the last leaves. */
  #end(): void {
    if (!this.#isEnding) {
      this.#quit();
      return;
    }
    if (!this.#isLetGo && this.#handle?.letGo() === true) {
      this.#isLetGo = true;
      this.note("warning: lets go at once, what the robot holds up falls");
      return;
    }
    this.close();
    this.#context.err.write("holdfast: left at once, without waiting for the robot to rest\n");
    try {
      this.#handle?.quit();
    } finally {
      this.#leave();
    }
  }

  #leave(): void {
    this.#context.leave(ExitCode.Interrupted);
  }

  #openSocket(handle: RunHandle): void {
    try {
      this.#socket = OperatorSocket.open(handle, this.#context.pid, this.#context.user);
    } catch (cause) {
      if (!(cause instanceof RuntimeFolderError)) throw cause;
      this.note(`${cause.message}: ${this.#context.program} stop will not find this run`);
    }
    void sweepLeftBehind(this.#context.user); // it never throws
  }

  #openPage(handle: RunHandle): void {
    const { port } = this.#place;
    this.#page = ConsoleServer.open(handle, port);
    this.note(
      this.#page === undefined
        ? `no page: no port is free from ${port} on`
        : `page: ${this.#isPrivate ? this.#page.ownerUrl : this.#page.url}`,
    );
  }

  #endPeriod(): void {
    this.#tellMore();
    this.#show();
  }

  #tellMore(): void {
    for (const lines of [this.#changes, this.#requests]) {
      for (const line of lines.endPeriod()) this.note(line);
    }
  }

  #show(): void {
    if (this.#handle !== undefined) this.#line.show(this.#handle.status());
  }
}
