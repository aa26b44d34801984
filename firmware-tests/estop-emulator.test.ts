// The emulated board that ships with the program, driven by the host's link in the chip's time: it
// arms, cuts within T_wd + 1 ms, and its keys do what a hand would.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, setDefaultTimeout, test } from "bun:test";
import { EmulatedBoard } from "../drivers/estop/emulated-board.ts";
import { EstopCause } from "../runtime/contracts/estop-codes.ts";
import type { EstopBench, OutputEdge } from "./estop-bench.ts";
import { RelayPair } from "./estop-bench.ts";
import { LinkRig } from "./estop-link-rig.ts";
import { FIRMWARE } from "./firmware-build.ts";

const image = readFileSync(join(FIRMWARE, "estop_m328p_emulated.hex"), "utf8");
const SILENCE_US = 100_000;
/** A chip of 16 MHz in JavaScript is slow on a busy machine. */
setDefaultTimeout(30_000);

type Emulated = { readonly rig: LinkRig; readonly board: EmulatedBoard };

function emulated(): Emulated {
  const edges: OutputEdge[] = [];
  const board = new EmulatedBoard(image, (atUs) =>
    edges.push({ atUs, outputBits: board.outputBits }),
  );
  const bench: EstopBench = {
    name: "emulated",
    get nowUs() {
      return board.nowUs;
    },
    get outputBits() {
      return board.outputBits;
    },
    edges,
    relays: new RelayPair(),
    switchBits: 0,
    runUntil: (untilUs) => board.runUntil(untilUs),
    send: (bytes) => board.send(bytes),
    takeReceived: () => board.takeSent(),
    reset: () => undefined,
    close: () => undefined,
  };
  return { rig: new LinkRig(bench), board };
}

function armed(): Emulated {
  const both = emulated();
  both.rig.until(({ mode }) => mode === "WAIT_RESET").run(4);
  both.board.press("reset");
  both.rig.until(({ mode }) => mode === "ARMED");
  return both;
}

test("it arms by its reset key, and stays armed while ticks complete", () => {
  const { rig, board } = armed();
  expect(rig.modes).toEqual(["TRIPPED", "PROOF", "WAIT_RESET", "ARMED"]);
  expect(rig.bench.edges.map(({ outputBits }) => outputBits)).toEqual([1, 0, 2, 0, 3]);
  rig.run(400);
  expect([rig.mode, board.outputBits]).toEqual(["ARMED", 3]);
});

test("from the last byte of the last beat it cuts within T_wd + 1 ms of its own time", () => {
  const { rig, board } = armed();
  rig.run(20);
  rig.isHung = true;
  rig.run(30);
  const silentUs = rig.bench.edges.at(-1)!.atUs - board.lastByteUs;
  expect(board.outputBits).toBe(0);
  expect(silentUs).toBeGreaterThan(SILENCE_US - 1_000);
  expect(silentUs).toBeLessThanOrEqual(SILENCE_US + 1_000);
  expect(rig.link.openCause).toBe(EstopCause.Silence);
});

test("its button stops, cuts after SS1-t, and lets go of itself for the next proof test", () => {
  const { rig, board } = armed();
  board.press("button");
  rig.until(({ mode }) => mode === "STOPPING");
  expect(board.outputBits).toBe(3);
  rig.until(({ mode }) => mode === "TRIPPED");
  expect([board.outputBits, rig.link.openCause]).toEqual([0, EstopCause.Button]);
  rig.until(({ mode }) => mode === "WAIT_RESET");
});
