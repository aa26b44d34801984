// Tests of the one exit: only the gate's own command, for its own tick, once. The actuator half is
// a fake that records what reaches it.

import { expect, test } from "bun:test";
import { isLong, noteFigure } from "../firmware-tests/figures.ts";
import type { CommandView } from "../runtime/contracts/command.ts";
import { Mode } from "../runtime/contracts/mode.ts";
import { Reason } from "../runtime/contracts/reason.ts";
import { SeededRandom } from "../runtime/contracts/seeded-random.ts";
import { instant } from "../runtime/contracts/units.ts";
import { CommandSink } from "./command-sink.ts";
import { testProfile, testState } from "./fixture.ts";
import type { ApprovedCommand } from "./gate.ts";
import { SafetyGate } from "./gate.ts";

/** Each ends at the first call that the gate or the sink doesn't take. */
const LIVES = isLong ? 1_000_000 : 20_000;

const base = testProfile();
const profile = { ...base, supervisor: { ...base.supervisor, startsIn: "Running" as const } };
const state = testState(profile, [0.5]);

function exit() {
  const sent: number[] = [];
  const gate = new SafetyGate(profile, 1);
  const sink = new CommandSink({ send: (command: CommandView) => sent.push(command.tick) }, gate);
  const approve = (tick: number): ApprovedCommand =>
    gate.approveSafe(state, Reason.NoAction, tick, instant(0), Mode.Running);
  return { sent, gate, sink, approve };
}

test("an approved command reaches the robot once, in its tick", () => {
  const { sent, sink, approve } = exit();
  for (const tick of [0, 1, 5]) sink.submit(approve(tick), tick);
  expect(sent).toEqual([0, 1, 5]);
});

test("a command that is spent, foreign, copied, or of another tick ends the thread unsent", () => {
  const { sent, gate, sink, approve } = exit();
  const first = approve(0);
  sink.submit(first, 0);
  expect(() => sink.submit(first, 0)).toThrow("a command is sent only once");
  const foreign = exit().approve(1);
  const own = approve(1);
  expect(() => sink.submit(foreign, 1)).toThrow("only when this gate minted it");
  const copy: ApprovedCommand = Object.assign(Object.create(Object.getPrototypeOf(own)), own);
  expect(() => sink.submit(copy, 1)).toThrow("only when this gate minted it");
  expect(() => sink.submit(own, 2)).toThrow("the command says the tick it is sent in");
  own.record[0] = 2; // says another tick than it was minted for
  expect(() => sink.submit(own, 2)).toThrow("only in the tick it was minted for");
  expect(sent).toEqual([0]);
  expect(gate.command[0]).toBe(0.5);
});

test("no second approval is minted in a tick, before or after the first is sent", () => {
  const { sent, sink, approve } = exit();
  const command = approve(3);
  expect(() => approve(4)).toThrow("the approval of the last tick was sent");
  sink.submit(command, 3);
  expect(() => approve(3)).toThrow("one approval per tick, in order");
  expect(() => approve(2)).toThrow("one approval per tick, in order");
  expect(() => approve(3.5)).toThrow("one approval per tick, in order");
  expect(sent).toEqual([3]);
});

test("random calls of everything public never send what was not approved, or twice", () => {
  const random = new SeededRandom(7);
  let sentCount = 0;
  for (let life = 0; life < LIVES; life += 1) {
    const { sent, gate, sink, approve } = exit();
    const other = exit();
    const approved: number[] = [];
    let tick = 0;
    let own = approve(tick);
    let foreign = other.approve(tick);
    approved.push(tick);
    const acts: (() => void)[] = [
      () => {
        own = approve(tick);
        approved.push(tick);
      },
      () => sink.submit(own, tick),
      () => sink.submit(own, tick),
      () => sink.submit(foreign, tick),
      () => other.sink.submit(foreign, tick),
      () => {
        foreign = other.approve(tick);
      },
      () => gate.rearm(state),
      () => {
        tick += 1;
      },
    ];
    let alive = true;
    while (alive) {
      try {
        acts[Math.floor(random.next() * acts.length)]!();
      } catch (error) {
        expect(String(error)).toContain("Assertion failed");
        alive = false; // as the thread would end
      }
    }
    expect(sent).toEqual(approved.slice(0, sent.length));
    expect(approved.length - sent.length).toBeLessThanOrEqual(1);
    sentCount += sent.length;
  }
  expect(sentCount).toBeGreaterThan(LIVES / 4);
  noteFigure({
    part: "one exit",
    case: "random calls of gate and sink",
    measured: `0 unapproved commands, ${sentCount} approved ones`,
    limit: "0 unapproved",
    tries: `${LIVES} sequences, each until the thread ends`,
  });
}, 600_000);
