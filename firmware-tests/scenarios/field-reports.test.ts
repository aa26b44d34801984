// What went wrong on other people's robots, tried on ours: each case by its id in the collection of
// field reports. Those with a sensor, a clock or the e-stop behind them stand here; each goes
// through the whole core, in virtual time.

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { AvrChip } from "../../drivers/estop/avr-chip.ts";
import { CommandKind, CommandSlot, RepairBit } from "../../runtime/contracts/command.ts";
import { EvidenceSlot, evidenceNames } from "../../runtime/contracts/evidence.ts";
import { Mode, OperatorCue } from "../../runtime/contracts/mode.ts";
import { Reason } from "../../runtime/contracts/reason.ts";
import { TickSlot, TickView } from "../../runtime/contracts/tick-record.ts";
import { LockstepPacer, STOPPED } from "../../runtime/core/pacer.ts";
import { loadRobot } from "../../runtime/profile/load.ts";
import { ProfileError } from "../../runtime/profile/problem.ts";
import { replayStorm, runStorm } from "../../runtime/sim/sim-cell.ts";
import { JointLimits } from "../../safety/limits.ts";
import { ChipBoard, committedImage } from "../chip-board.ts";
import { EstopCell } from "./estop-cell.ts";
import { LossCell, PERIOD_NS, TROUBLE_NS } from "./loss-cell.ts";
import { measure } from "./loss-run.ts";
import { losses } from "./losses.ts";
import type { Loss } from "./loss.ts";

const PROFILE = join(import.meta.dir, "../../profiles/so101.yaml");
const { Reset, Start, Stop } = OperatorCue;
const ANY_PHASE = 11;
const so101 = loadRobot("so101");
const image = committedImage("estop_m328p.hex");
const chip = () => new ChipBoard("avr8js", (listener) => new AvrChip(image, listener));

const rowOf = (id: string): Loss => losses.find((loss) => loss.id === id)!;
const healthy = (): LossCell => new LossCell({ phaseIndex: ANY_PHASE, lengthNs: 0 });
const isMotion = ({ command }: LossCell["sent"][number]): boolean =>
  command.kind === CommandKind.Motion;
const evidenceOf = (cell: LossCell): Set<string> =>
  new Set(cell.evidence.dump().map((entry) => evidenceNames[entry[EvidenceSlot.code]!]!));

/** Presses one after the other, 50 ms apart. */
function press(cell: LossCell, ...cues: readonly OperatorCue[]): void {
  for (const cue of cues) {
    cell.cues.push(cue);
    cell.runFor(50);
  }
}

test("B11: a first action far away is refused, or walked to within the limits, by profile", () => {
  const far = { by: "policy", trouble: "far" } as const;
  const options = { provoke: far, phaseIndex: ANY_PHASE, fromNs: 0, lengthNs: Infinity };
  const refusing = new LossCell(options).runFor(400);
  expect(refusing.sent.filter(isMotion)).toEqual([]);
  expect(evidenceOf(refusing)).toContain("rejected_start_mismatch");
  const change = (robot: typeof so101) => ({
    ...robot,
    gate: { ...robot.gate, startMismatch: "ramp" as const },
  });
  // The cell's oracle holds every command to the limits, and the first to where the arm is.
  const ramping = new LossCell({ ...options, change }).runFor(400);
  const first = ramping.sent.find(isMotion)!.command.values;
  for (const [joint, value] of first.entries()) {
    expect(Math.abs(value - so101.joints[joint]!.homeRad)).toBeLessThan(1e-3);
  }
  expect(ramping.records.some((r) => (r[TickSlot.repairs]! & RepairBit.StartRamp) !== 0)).toBe(
    true,
  );
});

test("B14: a frozen camera is stale by its own stamp and counter, and nobody decides on it", () => {
  const { provoke } = rowOf("scene-frozen");
  const cell = new LossCell({ provoke, phaseIndex: ANY_PHASE, lengthNs: Infinity });
  cell.runUntil(TROUBLE_NS);
  const field = cell.core.state.field("scene")!;
  const { seq, stampNs } = field;
  cell.runFor(200);
  expect([field.seq, field.stampNs]).toEqual([seq, stampNs]);
  const decided = cell.policy.goodUntilNs;
  cell.runFor(1_000);
  expect(cell.policy.goodUntilNs).toBe(decided);
  expect(cell.sent.slice(-100).filter(isMotion)).toEqual([]);
});

test("B18: a policy acts in every tenth tick, however unevenly the ticks come", () => {
  const steady = healthy();
  const uneven = new LossCell({
    provoke: { by: "pacer", lateMs: 3, tickCount: 1_000 },
    phaseIndex: 0,
    fromNs: 0,
    lengthNs: Infinity,
  });
  // The first after priming, another for the start, and then one in ten.
  for (const cell of [steady, uneven]) while (cell.core.tick < 1_000) cell.runFor(5);
  expect(uneven.core.timing.missedTotal).toBe(0);
  expect(uneven.policy.decidedCount).toBe(steady.policy.decidedCount);
  expect(Math.abs(steady.policy.decidedCount - 100)).toBeLessThanOrEqual(1);
});

test("B52: a limit that is no number, negative or text is refused before anything is built", () => {
  const joint = so101.joints[0]!;
  const bad = [Number.NaN, -3, Infinity, 0];
  const withLimit = (value: unknown) =>
    new JointLimits({
      ...so101,
      joints: [{ ...joint, velocityRadPerSMax: value as number }, ...so101.joints.slice(1)],
    });
  for (const value of bad) expect(() => withLimit(value)).toThrow("Assertion failed");
  const load = (text: string) =>
    loadRobot(PROFILE, (path) =>
      readFileSync(path, "utf8").replace(
        "velocity_rad_per_s_max: 3",
        `velocity_rad_per_s_max: ${text}`,
      ),
    );
  for (const text of [".nan", "-3", ".inf", "'3'", "0"]) {
    expect(() => load(text)).toThrow(ProfileError);
  }
  expect(load("2").joints[0]!.velocityRadPerSMax).toBe(2); // a whole number is one
});

test("B53: a target that is no number is refused by name, and nothing goes to an end stop", () => {
  const { provoke } = rowOf("policy-not-finite");
  const cell = new LossCell({ provoke, phaseIndex: ANY_PHASE, lengthNs: Infinity });
  cell.runUntil(TROUBLE_NS).runFor(1_200);
  expect(evidenceOf(cell)).toContain("rejected_not_finite");
  for (const { command } of cell.sent) {
    if (command.kind === CommandKind.None) continue; // it carries no values yet
    for (const [joint, value] of command.values.entries()) {
      // The swing is 0.6 rad wide: nothing leads further.
      expect(Math.abs(value - so101.joints[joint]!.homeRad)).toBeLessThan(0.61);
    }
  }
  expect(cell.core.supervisor.mode).toBe(Mode.SafeStop);
});

test("B55: what was asked, what was commanded and what was measured are recorded apart", () => {
  const { provoke } = rowOf("policy-jump");
  const cell = new LossCell({ provoke, phaseIndex: ANY_PHASE, lengthNs: Infinity });
  cell.runUntil(TROUBLE_NS).runFor(50);
  const jointCount = so101.joints.length;
  const sent = cell.sent.slice(-10);
  for (const [at, record] of cell.records.slice(-10).entries()) {
    const { asked, command, measured } = new TickView(record, jointCount);
    expect(record[TickSlot.reason]).toBe(Reason.Ok);
    expect([...command]).toEqual([...sent[at]!.command.values]);
    expect(asked[0]).not.toBe(command[0]);
    expect(measured[0]).not.toBe(command[0]);
  }
});

test("B58: what was commanded before and during an e-stop never takes effect", () => {
  const cell = new EstopCell(chip()).swing();
  cell.provoke("button", 0).run(200);
  const { core } = cell.cell;
  const epoch = core.epoch;
  // Decisions came all the while; none of them may be what moves it.
  cell.restore("button").armChip();
  const from = cell.cell.sent.length;
  cell.cell.cues.push(Reset);
  cell.run(200);
  expect(cell.motionsSince(from)).toBe(0);
  cell.cell.cues.push(Start);
  cell.run(20);
  const motions = cell.cell.sent.slice(from).filter(isMotion);
  expect(motions.length).toBeGreaterThan(0);
  for (const { command } of motions)
    expect(command.record[CommandSlot.epoch]).toBeGreaterThan(epoch);
});

test("B60: an arm that sank while it had no power is met where it lies, without a jump", () => {
  const cell = new EstopCell(chip()).swing();
  const before = cell.cell.body.positionRad[1]!;
  cell.provoke("limit_chain", 0).run(200);
  const sunkRad = cell.cell.body.positionRad[1]!;
  expect(before - sunkRad).toBeGreaterThan(0.3);
  cell.restore("limit_chain").armChip();
  const from = cell.cell.sent.length;
  cell.cell.cues.push(Reset);
  cell.run(5);
  cell.cell.cues.push(Start);
  cell.run(40);
  const values = cell.cell.sent.slice(from).map(({ command }) => command.values[1]!);
  expect(Math.abs(values[0]! - sunkRad)).toBeLessThan(1e-9);
  expect(cell.motionsSince(from)).toBeGreaterThan(0);
  // From rest a command may gain 15 rad/s2 at most.
  for (let at = 2; at < values.length; at += 1) {
    const gained = values[at]! - 2 * values[at - 1]! + values[at - 2]!;
    expect(Math.abs(gained)).toBeLessThan(15 * 0.005 ** 2 + 1e-9);
  }
});

test("B61: commands never reset the e-stop: a released button moves nothing", () => {
  const cell = new EstopCell(chip()).swing();
  cell.provoke("button", 0).run(100).restore("button");
  const from = cell.cell.sent.length;
  cell.run(1_000);
  expect(cell.chipMode).toBe("WAIT_RESET");
  expect([cell.bench.outputBits, cell.motionsSince(from)]).toEqual([0, 0]);
});

for (const trouble of ["control_hung", "old_beats"] as const) {
  const what = trouble === "old_beats" ? "a driver that repeats the last beat" : "a silent driver";
  test(`B65: a tick counter that stands is dead with ${what}, and the way back is stated`, () => {
    const cell = new EstopCell(chip()).swing();
    cell.provoke(trouble, 0).run(20);
    expect((cell.openedNs - cell.causeNs) / 1e6).toBeLessThanOrEqual(25 + 1 + 1);
    cell.run(400);
    expect(cell.bench.outputBits).toBe(0);
    const from = cell.cell.sent.length;
    cell.restore(trouble).armChip();
    expect(cell.motionsSince(from)).toBe(0);
    for (const cue of [Reset, Start]) {
      cell.cell.cues.push(cue);
      cell.run(10);
    }
    expect(cell.motionsSince(from)).toBeGreaterThan(0);
  });
}

test("B66: after a stop and a start nothing goes to where the motion would be by now", () => {
  const cell = healthy();
  cell.runUntil(TROUBLE_NS);
  press(cell, Stop);
  cell.runFor(500);
  const held = cell.sent.at(-1)!.command.values;
  const epoch = cell.core.epoch;
  const from = cell.sent.length;
  press(cell, Reset, Start);
  const motions = cell.sent.slice(from).filter(isMotion);
  expect(motions.length).toBeGreaterThan(0);
  // The cell's oracle bounds every step; the first is one tick from rest.
  for (const [joint, value] of motions[0]!.command.values.entries()) {
    expect(Math.abs(value - held[joint]!)).toBeLessThan(1e-3);
  }
  for (const { command } of motions)
    expect(command.record[CommandSlot.epoch]).toBeGreaterThan(epoch);
});

test("B69: a missed cycle is counted: one late tick, then the grid again, no burst", () => {
  const cell = new LossCell({
    provoke: { by: "pacer", lateMs: 12, tickCount: 1 },
    phaseIndex: 0,
    lengthNs: Infinity,
  });
  cell.runUntil(TROUBLE_NS).runFor(40);
  const late = cell.records.findIndex((record) => record[TickSlot.lateNs]! > 12e6);
  const after = cell.records.slice(late + 1, late + 4);
  expect(after.map((record) => record[TickSlot.missedTicks])).toEqual([1, 0, 0]);
  for (const record of after.slice(1)) expect(record[TickSlot.nowNs]! % PERIOD_NS).toBe(0);
  expect(measure(rowOf("control-missed"), ANY_PHASE).pathMs[0]).toEqual(["SAFE_STOP", 0]);
});

test("B73: arrivals are recorded with the tick that took them: a storm replays bit for bit", () => {
  const storm = runStorm(so101, 3, 600);
  expect(storm.log.chunks.some((chunk) => chunk !== undefined)).toBe(true);
  expect(replayStorm(storm)).toEqual(storm.records);
});

test("B76: a grant is one tick, whoever waits how long between two of them", () => {
  let granted = 0;
  const pacer = new LockstepPacer(() => granted-- > 0, 200, 1);
  const ticks: number[] = [];
  for (const burst of [1, 0, 3, 1]) {
    granted = burst;
    for (let nowNs = pacer.next(); nowNs !== STOPPED; nowNs = pacer.next()) ticks.push(nowNs);
  }
  expect(ticks).toEqual([0, 5e6, 10e6, 15e6, 20e6]);
});
