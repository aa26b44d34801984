// The emulated e-stop, seen from the run that starts it: a process of its own, from this very
// program, that outlives the run by some seconds. Its keys are pressed from here; its outputs are
// not heard here, they go to the simulated drives by themselves.

import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { EmulatorReady } from "../../drivers/estop/emulator.ts";
import { estopFolderPrefix } from "./left-behind.ts";
import { folderChoices, prepareFolder } from "./runtime-folder.ts";

/** The hidden subcommand under which the program is the emulator. */
export const EMULATOR_COMMAND = "estop-emulator";
const READY_MS_MAX = 15_000;

export class EstopEmulatorError extends Error {
  override readonly name = "EstopEmulatorError";
  readonly code = "estop_emulator";

  constructor(why: string) {
    super(`Cannot start the emulated e-stop: ${why}`);
  }
}

export class EstopEmulator {
  readonly path: string;
  readonly enablePath: string;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, ready: EmulatorReady) {
    this.#child = child;
    this.path = ready.path;
    this.enablePath = ready.enablePath;
  }

  /** Starts the process and waits until its line can be opened. `stopMs` is the chip's SS1-t. */
  static async start(stopMs: number): Promise<EstopEmulator> {
    const user = { uid: process.getuid?.() ?? 0, environment: Bun.env };
    const parent = folderChoices(user)[0]!;
    prepareFolder(parent, user.uid);
    const folder = mkdtempSync(join(parent, estopFolderPrefix(process.pid)));
    const isBinary = Bun.main.startsWith("/$bunfs/");
    const entry = isBinary ? [] : [Bun.main];
    // A group of its own: Ctrl-C is for the run.
    const child = spawn(process.execPath, [...entry, EMULATOR_COMMAND, folder, `${stopMs}`], {
      detached: true,
      stdio: ["pipe", "pipe", "ignore"],
    });
    try {
      return new EstopEmulator(child, await readyOf(child));
    } catch (error) {
      child.kill("SIGKILL");
      rmSync(folder, { recursive: true, force: true });
      throw error;
    } finally {
      child.unref();
    }
  }

  /** Presses a key of the board for a moment. */
  press(key: "button" | "reset"): void {
    this.#child.stdin?.write(key === "button" ? "b" : "r");
  }

  /** Lets go of the board: it ends by itself. */
  close(): void {
    this.#child.stdin?.destroy();
    this.#child.stdout?.destroy();
  }
}

function readyOf(child: ChildProcess): Promise<EmulatorReady> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(
      () => reject(new EstopEmulatorError(`it was not ready within ${READY_MS_MAX / 1_000} s`)),
      READY_MS_MAX,
    );
    const end = (act: () => void): void => {
      clearTimeout(late);
      act();
    };
    child.once("error", (error) => end(() => reject(new EstopEmulatorError(error.message))));
    child.once("exit", (code) =>
      end(() => reject(new EstopEmulatorError(`it ended with code ${code}`))),
    );
    child.stdin?.on("error", () => undefined); // a board that is gone shows on its line
    createInterface({ input: child.stdout! }).once("line", (line) =>
      end(() => resolve(JSON.parse(line) as EmulatorReady)),
    );
  });
}
