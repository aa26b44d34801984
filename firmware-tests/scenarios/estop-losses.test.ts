// The e-stop's rows of the loss table: the real firmware beside a whole core, in one virtual time.
// The committed image in the emulated chip runs some phases of the tick, all of them in long runs;
// its core on this machine runs all of them always. What the table says is the most of what the
// emulated chip did.

import { describe, expect, test } from "bun:test";
import { AvrChip } from "../../drivers/estop/avr-chip.ts";
import { CommandKind } from "../../runtime/contracts/command.ts";
import { EstopOutput, estopCauseNames } from "../../runtime/contracts/estop-codes.ts";
import { Mode, OperatorCue, modeNames } from "../../runtime/contracts/mode.ts";
import { ChipBoard, committedImage } from "../chip-board.ts";
import type { EstopBench } from "../estop-bench.ts";
import { CoreBench } from "../estop-core-bench.ts";
import { isLong, noteFigure } from "../figures.ts";
import { hasHostCompiler } from "../firmware-build.ts";
import { EstopCell } from "./estop-cell.ts";
import { estopBlips, estopLosses } from "./estop-losses.ts";
import type { EstopBlip, EstopLoss } from "./estop-losses.ts";
import { PHASE_COUNT } from "./loss-cell.ts";

const NS_PER_MS = 1e6;
const EVERY = Array.from({ length: PHASE_COUNT }, (_, phase) => phase);
/** Both ends, and those at which a row of any bench was slowest. */
const SOME = isLong ? EVERY : [0, 13, 20, 38, 41, 46, PHASE_COUNT - 1];
/** Longer than SS1-t. */
const LONG_TICKS = 70;
const ANY_PHASE = 23;
const SECOND_TICKS = 200;
/** The host hears nothing while it lasts, nor what the chip says of it. */
const HOST_IS_DEAF: ReadonlySet<string> = new Set(["line_to_host", "noise_to_host", "unplugged"]);

const image = committedImage("estop_m328p.hex");
const avr = (): EstopBench => new ChipBoard("avr8js", (listener) => new AvrChip(image, listener));
const core = (): EstopBench => new CoreBench();

/** An arm that swings, and then this. */
function struck({ trouble }: EstopLoss, bench: EstopBench, phase: number): EstopCell {
  const cell = new EstopCell(bench).swing();
  return cell.provoke(trouble, phase);
}

/** Upwards to a tenth, so that the figure stays an upper bound. */
const ms = (ns: number): number => Math.ceil(ns / (NS_PER_MS / 10) - 1e-6) / 10;

type Measured = { readonly stopMs: number; readonly openMs: number };

/** Throws where the robot moves after the stop, or both outputs close again. */
function measure(loss: EstopLoss, bench: EstopBench, phase: number): Measured {
  const cell = struck(loss, bench, phase);
  const { causeNs } = cell;
  cell.run(LONG_TICKS);
  const later = cell.cell.sent.filter(({ nowNs }) => nowNs >= causeNs);
  const stop = later.find(({ command }) => command.kind !== CommandKind.Motion)!;
  const edges = bench.edges.filter(({ atUs }) => atUs * 1e3 >= causeNs);
  const opened = edges.find(({ outputBits }) => outputBits === 0)!;
  const stoppedAt = cell.cell.sent.indexOf(stop);
  expect(cell.motionsSince(stoppedAt)).toBe(0);
  // The proof test that follows closes each alone.
  expect(edges.every(({ outputBits }) => outputBits !== EstopOutput.Both)).toBe(true);
  // A host that hears nothing learns it once it hears again.
  if (HOST_IS_DEAF.has(loss.trouble)) cell.restore(loss.trouble).run(2);
  expect(estopCauseNames[cell.link.openCause]).toBe(loss.chipSays);
  bench.close();
  return { stopMs: ms(stop.nowNs - causeNs), openMs: ms(opened.atUs * 1e3 - causeNs) };
}

function worst(loss: EstopLoss, make: () => EstopBench, phases: readonly number[]): Measured {
  const all = phases.map((phase) => measure(loss, make(), phase));
  const stopMs = Math.max(...all.map((each) => each.stopMs));
  return { stopMs, openMs: Math.max(...all.map((each) => each.openMs)) };
}

describe("the committed image in avr8js", () => {
  test.each(estopLosses)("$id: stopped and open when the table says", (loss) => {
    const measured = worst(loss, avr, SOME);
    noteFigure({
      part: "loss table",
      case: loss.id,
      measured: `stop within ${measured.stopMs} ms, open within ${measured.openMs} ms`,
      limit: `${loss.stopWithinMs} ms and ${loss.openWithinMs} ms`,
      tries: `${SOME.length} phases`,
    });
    expect(measured).toEqual({ stopMs: loss.stopWithinMs, openMs: loss.openWithinMs });
  });
});

describe.if(hasHostCompiler)("the core on this machine", () => {
  test.each(estopLosses)("$id: at every phase no later than the table says", (loss) => {
    const measured = worst(loss, core, EVERY);
    // It steps every 256 us, where the chip waits for its own timer.
    expect(measured.stopMs).toBeLessThanOrEqual(loss.stopWithinMs);
    expect(measured.openMs).toBeLessThanOrEqual(loss.openWithinMs + 0.3);
  });
});

const { Reset, Start } = OperatorCue;
const modesOf = (cell: EstopCell): string[] => {
  const { path, pathLength } = cell.cell.core.supervisor;
  return [...path.subarray(0, pathLength)].map((mode) => modeNames[mode]!);
};

test.each(estopLosses.filter(({ isForGood }) => isForGood !== true))(
  "$id: only the chip's reset, then reset, then start move it again",
  (loss) => {
    const cell = struck(loss, avr(), ANY_PHASE);
    cell.run(LONG_TICKS);
    expect(modesOf(cell)).toEqual(["STARTING", "RUNNING", ...loss.path]);
    const from = cell.cell.sent.length;
    const press = (...cues: readonly OperatorCue[]) => {
      for (const cue of cues) {
        cell.cell.cues.push(cue);
        cell.run(10);
      }
      return { motions: cell.motionsSince(from), outputs: cell.bench.outputBits };
    };
    const still = { motions: 0, outputs: 0 };
    // While it lasts, whatever anybody presses. A chip that only restarted has nothing that lasts.
    const lasts = !loss.trouble.startsWith("chip_");
    expect(press(Reset, Start)).toEqual(still);
    if (lasts) cell.pressReset();
    expect(press(Reset, Start)).toEqual(still);
    // Taken back: the chip proves itself, and still waits for its own reset.
    cell.restore(loss.trouble).until(({ chipMode }) => chipMode === "WAIT_RESET");
    expect(press(Reset, Start)).toEqual(still);
    cell.run(SECOND_TICKS);
    expect(press(Start)).toEqual(still);
    // The chip's reset gives the power back and moves nothing; nor does the host's start alone.
    cell.pressReset().until(({ chipMode }) => chipMode === "ARMED");
    const closed = { motions: 0, outputs: EstopOutput.Both };
    expect(press(Start)).toEqual(closed);
    expect(press(Reset)).toEqual(closed);
    cell.run(SECOND_TICKS);
    expect(press()).toEqual(closed);
    expect(cell.mode).toBe(Mode.Recover);
    // The arm has sunk meanwhile: what is commanded before the first motion is where it lies.
    const held = cell.cell.sent.at(-1)!.command.values;
    expect(Math.abs(held[1]! - cell.cell.body.positionRad[1]!)).toBeLessThan(1e-9);
    expect(press(Start).motions).toBeGreaterThan(0);
    const first = cell.cell.sent
      .slice(from)
      .find(({ command }) => command.kind === CommandKind.Motion)!;
    expect(Math.abs(first.command.values[1]! - held[1]!)).toBeLessThan(1e-3);
  },
);

test.each(estopLosses.filter(({ isForGood }) => isForGood === true))(
  "$id: nothing but a new run moves it again",
  (loss) => {
    const cell = struck(loss, avr(), ANY_PHASE);
    cell.run(LONG_TICKS);
    expect(modesOf(cell)).toEqual(["STARTING", "RUNNING", ...loss.path]);
    const from = cell.cell.sent.length;
    // Plugged in again, its device has another file: this run's stays gone.
    cell.restore(loss.trouble).run(SECOND_TICKS);
    for (const cues of [[Start], [Reset], [Reset, Start]]) {
      cell.pressReset().cell.cues.push(...cues);
      cell.run(SECOND_TICKS);
    }
    expect([cell.motionsSince(from), cell.bench.outputBits]).toEqual([0, 0]);
    expect(cell.mode).toBe(Mode.FaultLatched);
  },
);

/** One wrong byte in an arm that swings: when the host had it counted. */
function counted({ trouble }: EstopBlip, bench: EstopBench, phase: number): number {
  const cell = new EstopCell(bench).swing();
  const before = cell.wrongCount;
  const [from, edgeCount] = [cell.cell.sent.length, bench.edges.length];
  cell.provoke(trouble, phase).until(({ wrongCount }) => wrongCount > before);
  const countedNs = cell.driverNs;
  cell.run(LONG_TICKS);
  // A wrong byte that is a zero makes two frames of one, and neither is good.
  expect([1, 2]).toContain(cell.wrongCount - before);
  expect(cell.link.status.failCount).toBe(0);
  expect(bench.edges.length).toBe(edgeCount);
  expect(cell.motionsSince(from)).toBe(cell.cell.sent.length - from);
  bench.close();
  return ms(countedNs - cell.causeNs);
}

test.each(estopBlips)("$id: counted within what the table says, and nothing else", (blip) => {
  const onChip = SOME.map((phase) => counted(blip, avr(), phase));
  noteFigure({
    part: "loss table",
    case: blip.id,
    measured: `counted within ${Math.max(...onChip)} ms, nothing cut`,
    limit: `${blip.countedWithinMs} ms`,
    tries: `${onChip.length} phases`,
  });
  expect(Math.max(...onChip)).toBe(blip.countedWithinMs);
});

test.skipIf(!hasHostCompiler).each(estopBlips)(
  "$id: the same at every phase of its core",
  (blip) => {
    const onCore = EVERY.map((phase) => counted(blip, core(), phase));
    expect(Math.max(...onCore)).toBeLessThanOrEqual(blip.countedWithinMs);
  },
);
