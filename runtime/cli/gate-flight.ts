// Judges a recorded flight again: the asked commands of its ticks, by a gate with the profile
// given, on the joints as they were measured then. Nothing is driven: the commands end here.

import { readFileSync, statSync } from "node:fs";
import { ActionSample } from "../contracts/action-sample.ts";
import { CommandSlot } from "../contracts/command.ts";
import { mayMove, modeNames } from "../contracts/mode.ts";
import type { Mode } from "../contracts/mode.ts";
import type { RobotProfile } from "../contracts/profile.ts";
import { Reason, reasonNames } from "../contracts/reason.ts";
import { StateLayout, StateSlot, StateView } from "../contracts/state.ts";
import { TickSlot, TickView, tickSlotCount } from "../contracts/tick-record.ts";
import { instant, NS_PER_S } from "../contracts/units.ts";
import { commandFingerprint } from "../policy/adapter.ts";
import { GateTally } from "../record/gate-tally.ts";
import { DiscardingActuator } from "../record/input-log.ts";
import { CommandSink } from "../../safety/command-sink.ts";
import { SafetyGate } from "../../safety/gate.ts";
import { quoted, UsageError } from "./usage.ts";

/**
 * A flight begins in motion, and a gate at rest: what it does until it has caught up is not
 * counted. From rest to any speed takes a fifth of a second.
 */
export const CATCH_UP_S = 0.5;

type FlightTick = {
  readonly tick: number;
  readonly now_ns: number;
  readonly sampled_ns: number;
  readonly reason: string;
  readonly mode: string;
  readonly seq: number;
  readonly asked: readonly number[];
  readonly measured_rad: readonly number[];
};

/** A tick of 16 joints is 1 KB of text; a dump has 400 of them. */
const FLIGHT_SIZE_BYTES_MAX = 64 << 20;

/** Throws UsageError for a file that is no flight of this robot. */
export function judgeFlight(path: string, robot: RobotProfile): GateTally {
  const judge = new FlightJudge(robot);
  for (const tick of readFlight(path, robot)) judge.judge(tick);
  return judge.tally;
}

function readFlight(path: string, robot: RobotProfile): FlightTick[] {
  let text: string;
  try {
    const status = statSync(path);
    if (!status.isFile() || status.size > FLIGHT_SIZE_BYTES_MAX) {
      const expected = `a file of at most ${FLIGHT_SIZE_BYTES_MAX} bytes`;
      const found = status.isFile() ? `${status.size} bytes` : "something else";
      throw new UsageError("--from", expected, `${quoted(path)}, ${found}`);
    }
    text = readFileSync(path, "utf8");
  } catch (cause) {
    if (cause instanceof UsageError) throw cause;
    const code = (cause as NodeJS.ErrnoException).code ?? String(cause);
    throw new UsageError("--from", "a flight that can be read", `${quoted(path)}: ${code}`);
  }
  const [head, ...ticks] = text.trimEnd().split("\n").map(parsed);
  const own = robot.joints.map((joint) => joint.name).join(", ");
  const joints = isRecord(head) && Array.isArray(head["joints"]) ? head["joints"].join(", ") : "";
  if (joints !== own) {
    const found = joints === "" ? `${quoted(path)}, which names none` : joints;
    throw new UsageError("--from", `a flight of the joints ${own}`, found);
  }
  const judged = ticks.map((tick, index) => {
    if (isTick(tick, robot.joints.length)) return tick;
    throw new UsageError("--from", "a tick on every line", `none on line ${index + 2}`);
  });
  if (judged.length < 2) {
    throw new UsageError(
      "--from",
      "a flight of two ticks and more",
      `${quoted(path)}: ${judged.length}`,
    );
  }
  return judged;
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined;
    throw cause;
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function isTick(value: unknown, jointCount: number): value is FlightTick {
  if (!isRecord(value)) return false;
  const isFigure = (key: string) => typeof value[key] === "number";
  const isRow = (key: string) => Array.isArray(value[key]) && value[key].length === jointCount;
  return (
    // A tick without a sample has none of its times.
    ["tick", "now_ns", "seq"].every(isFigure) &&
    ["asked", "measured_rad"].every(isRow) &&
    reasonNames.includes(value["reason"] as never) &&
    modeNames.includes(value["mode"] as never)
  );
}

class FlightJudge {
  readonly tally: GateTally;
  readonly #gate: SafetyGate;
  readonly #sink: CommandSink;
  readonly #state: StateView;
  readonly #action: ActionSample;
  readonly #record: TickView;
  readonly #periodS: number;
  #fromTick = Number.NaN;
  #seq = Number.NaN;

  constructor(robot: RobotProfile) {
    const jointCount = robot.joints.length;
    const layout = new StateLayout(robot, robot.sources, "");
    this.tally = new GateTally(robot);
    this.#gate = new SafetyGate(robot, commandFingerprint(robot));
    this.#sink = new CommandSink(new DiscardingActuator(), this.#gate);
    this.#state = new StateView(new Float64Array(layout.slotCount), layout);
    this.#state.record[StateSlot.validityNs] = robot.state.validityNs;
    this.#action = new ActionSample(jointCount);
    this.#action.schemaFingerprint = commandFingerprint(robot);
    this.#action.width = jointCount;
    this.#record = new TickView(new Float64Array(tickSlotCount(jointCount)), jointCount);
    this.#periodS = robot.periodNs / NS_PER_S;
  }

  judge(flown: FlightTick): void {
    const reason = this.#judged(flown);
    const mode = modeNames.indexOf(flown.mode as (typeof modeNames)[number]) as Mode;
    const faults = this.#gate.watch(this.#state, reason);
    const nowNs = instant(flown.now_ns);
    const moves = reason === Reason.Ok && mayMove(mode);
    const command = moves
      ? this.#gate.approveMotion(this.#action, this.#state, flown.tick, nowNs, mode)
      : this.#gate.approveSafe(this.#state, reason, flown.tick, nowNs, mode);
    this.#sink.submit(command, flown.tick);
    if ((flown.tick - this.#fromTick) * this.#periodS < CATCH_UP_S) return;
    const { record } = this.#record;
    record[TickSlot.tick] = flown.tick;
    record[TickSlot.nowNs] = flown.now_ns;
    record[TickSlot.reason] = reason;
    record[TickSlot.mode] = mode;
    record[TickSlot.kind] = command.kind;
    record[TickSlot.repairs] = command.record[CommandSlot.repairs]!;
    record[TickSlot.faults] = faults;
    this.#record.asked.set(flown.asked);
    this.#record.command.set(command.values);
    this.#record.measured.set(flown.measured_rad);
    this.tally.write(record);
  }

  /** The reason of this tick: as it was, where it had no decision, or the gate's own. */
  #judged(flown: FlightTick): Reason {
    const { positionRad, record, velocityRadPerS } = this.#state;
    const stampNs = flown.sampled_ns ?? Number.NaN;
    const sinceS = (stampNs - record[StateSlot.stampNs]!) / NS_PER_S;
    for (const [joint, rad] of flown.measured_rad.entries()) {
      // Between two samples the velocity stays; before the second there is none.
      if (sinceS > 0) velocityRadPerS[joint] = (rad - positionRad[joint]!) / sinceS;
      positionRad[joint] = rad ?? Number.NaN;
    }
    record[StateSlot.stampNs] = stampNs;
    if (Number.isNaN(this.#fromTick)) {
      velocityRadPerS.fill(0);
      this.#fromTick = flown.tick;
      this.#gate.follow(this.#state);
    }
    const reason = reasonNames.indexOf(flown.reason as (typeof reasonNames)[number]) as Reason;
    // What the gate refused then is refused again, with its own words; its values are not recorded.
    if (reason !== Reason.Ok) return reason;
    this.#action.values.set(flown.asked);
    this.#action.tookOver = flown.seq !== this.#seq;
    this.#seq = flown.seq;
    return this.#gate.judge(this.#action, this.#state);
  }
}
