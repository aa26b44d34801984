// The operator's place at a run: keys, signals, socket, page and status line on one handle. Nothing
// here can fail a run: whatever cannot be opened is told once and left out. It stands before the
// run has a handle, so that a stop or a Ctrl-C while threads still load is not lost.

import { ConsoleServer } from "../console/server.ts";
import type { CommandContext } from "./command-context.ts";
import { KEY_HELP, TerminalKeys } from "./keys.ts";
import type { KeyName } from "./keys.ts";
import { OperatorSocket } from "./operator-socket.ts";
import type { TextOut } from "./output.ts";
import type { CueAnswer, RunHandle } from "./run-handle.ts";
import { RuntimeFolderError } from "./runtime-folder.ts";
import { ignoredSignals, signalExitCode, watchSignals } from "./signals.ts";
import { StatusLine } from "./status-line.ts";
import { ExitCode } from "./usage.ts";

const STATUS_PERIOD_MS = 1_000;

export class OperatorDesk {
  readonly #context: CommandContext;
  readonly #line: StatusLine;
  readonly #port: number;
  readonly #keys: TerminalKeys | undefined;
  readonly #unwatch: () => void;
  #handle: RunHandle | undefined;
  #socket: OperatorSocket | undefined;
  #page: ConsoleServer | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;
  #isEnding = false;
  #isStopAsked = false;

  /** `port` is the first one the page tries. */
  constructor(context: CommandContext, out: TextOut, port: number) {
    this.#context = context;
    this.#line = new StatusLine(out);
    this.#port = port;
    this.#unwatch = watchSignals(context.signals, ignoredSignals(), (signal) => {
      this.#end(signalExitCode(signal));
    });
    const { keyboard } = context;
    this.#keys =
      keyboard === undefined ? undefined : new TerminalKeys(keyboard, (key) => this.#act(key));
  }

  /** Opens the ways in. Called once, when the run can be spoken to. */
  attach(handle: RunHandle): void {
    this.#handle = handle;
    if (this.#isStopAsked) handle.stop();
    if (this.#isEnding) handle.quit();
    this.#openSocket(handle);
    this.#openPage(handle);
    if (this.#keys !== undefined) this.note(KEY_HELP);
    this.#show();
    this.#timer = setInterval(() => this.#show(), STATUS_PERIOD_MS);
  }

  /** Writes lines for a person. */
  note(text: string): void {
    this.#line.note(text);
  }

  /** Gives everything back, the terminal first. May be called again. */
  close(): void {
    this.#keys?.close();
    clearInterval(this.#timer);
    this.#line.end();
    this.#unwatch();
    this.#socket?.close();
    this.#page?.close();
    this.#socket = undefined;
    this.#page = undefined;
  }

  #act(key: KeyName): void {
    if (key === "help") this.note(KEY_HELP);
    else if (key === "quit") this.#quit();
    else if (key === "interrupt") this.#end(ExitCode.Interrupted);
    else if (this.#handle !== undefined) this.#tell(this.#handle[key]());
    else this.#actEarly(key);
  }

  /** A stop is kept for the run that is still being set up; nothing else is. */
  #actEarly(key: KeyName): void {
    this.#isStopAsked ||= key === "stop";
    const answer = key === "stop" ? "it will start stopped" : "not yet";
    this.note(`${key}: the run is still being set up, ${answer}`);
  }

  #tell(answer: CueAnswer): void {
    this.note(answer.text);
    this.#show();
  }

  /** Asks once for an end under control. */
  #quit(): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    this.note("ending under control; Ctrl-C leaves at once");
    this.#handle?.quit();
  }

  /** The first time asks, the second leaves. */
  #end(exitCode: number): void {
    if (!this.#isEnding) {
      this.#quit();
      return;
    }
    this.close();
    this.#context.err.write("holdfast: left at once, without waiting for the robot to rest\n");
    try {
      this.#handle?.quit();
    } finally {
      this.#context.leave(exitCode);
    }
  }

  #openSocket(handle: RunHandle): void {
    try {
      this.#socket = OperatorSocket.open(handle, this.#context.pid, this.#context.user);
    } catch (cause) {
      if (!(cause instanceof RuntimeFolderError)) throw cause;
      this.note(`${cause.message}: holdfast stop will not find this run`);
    }
  }

  #openPage(handle: RunHandle): void {
    this.#page = ConsoleServer.open(handle, this.#port);
    this.note(
      this.#page === undefined
        ? `no page: no port is free from ${this.#port} on`
        : `page: ${this.#page.url}`,
    );
  }

  #show(): void {
    if (this.#handle !== undefined) this.#line.show(this.#handle.status());
  }
}
