// Tests of recording and replaying what enters a core: chunks, samples, cues and silences come back
// at the call at which they came, and a core fed with them sends the same commands bit for bit.

import { expect, test } from "bun:test";
import { Fault } from "../../safety/faults.ts";
import { ChunkView } from "../contracts/action.ts";
import { AssertionError } from "../contracts/assert.ts";
import { CommandView, commandSlotCount } from "../contracts/command.ts";
import { OperatorCue } from "../contracts/mode.ts";
import type { PolicyPort } from "../contracts/policy.ts";
import { SensorSnapshot } from "../contracts/sample.ts";
import { StateLayout, StateView } from "../contracts/state.ts";
import { tickSlotCount } from "../contracts/tick-record.ts";
import { duration, instant } from "../contracts/units.ts";
import { KinematicRobot } from "../../hal/kinematic-robot.ts";
import { commandFingerprint } from "../policy/adapter.ts";
import { IdlePolicyPort } from "../policy/idle-port.ts";
import { loadRobot } from "../profile/load.ts";
import { ControlCore } from "../core/core.ts";
import type { CoreParts } from "../core/core.ts";
import { EvidenceLog } from "../core/evidence-log.ts";
import { NO_WORLD } from "../core/machine-watch.ts";
import { FlightRecorder } from "../core/flight-recorder.ts";
import {
  ALL_ALIVE,
  DiscardingActuator,
  InputLog,
  NO_CUES,
  RecordingAlive,
  RecordingCuePort,
  RecordingMachine,
  RecordingPolicyPort,
  RecordingSensor,
  ReplayAlive,
  ReplayCuePort,
  ReplayMachine,
  ReplayPolicyPort,
  ReplaySensor,
} from "./input-log.ts";
import { ReplayPacer, runLoop } from "../core/pacer.ts";

const robot = loadRobot("so101");
const layout = new StateLayout(robot, robot.sources, "");
const TICKS = 300;
const times = Float64Array.from({ length: TICKS }, (_, tick) => tick * robot.periodNs);
const nothing = new Float64Array(TICKS);

type Ports = Pick<CoreParts, "sensor" | "policy" | "cues" | "alive" | "machine">;

function recordsOf(ports: Ports, actuator: CoreParts["actuator"]) {
  const ticks = new FlightRecorder(TICKS, tickSlotCount(layout.jointCount));
  const core = new ControlCore({
    ...ports,
    actuator,
    profile: robot,
    layout,
    schemaFingerprint: commandFingerprint(robot),
    ticks,
    evidence: new EvidenceLog(),
    deadlineIsFault: true,
  });
  core.prime(instant(0));
  runLoop(core, new ReplayPacer(times, nothing, nothing, nothing));
  return ticks.dump();
}

const replayOf = (log: InputLog): Ports => ({
  sensor: new ReplaySensor(log),
  policy: new ReplayPolicyPort(log),
  cues: new ReplayCuePort(log),
  alive: new ReplayAlive(log),
  machine: new ReplayMachine(log),
});

/** A run with a start, a silent policy thread for a while, a stop, a reset and another start. */
function recordedRun() {
  const body = new KinematicRobot(robot, robot.sources, {
    ageNs: duration(2_500_000),
    lagNs: duration(20_000_000),
  });
  body.activate(instant(0));
  const keys = new Map([
    [5, OperatorCue.Start],
    [150, OperatorCue.Stop],
    [180, OperatorCue.Reset],
    [200, OperatorCue.Start],
  ]);
  let asked = 0;
  let checks = 0;
  const log = new InputLog();
  const records = recordsOf(
    {
      sensor: new RecordingSensor(body.sensor, log),
      policy: new RecordingPolicyPort(new IdlePolicyPort(robot), log),
      cues: new RecordingCuePort(
        {
          takeCue: () => {
            asked += 1;
            return keys.get(asked) ?? OperatorCue.None;
          },
        },
        log,
      ),
      alive: new RecordingAlive(
        {
          check: () => {
            checks += 1;
            return checks > 60 && checks < 90 ? 1 << Fault.PolicyLost : 0;
          },
        },
        log,
      ),
      machine: new RecordingMachine(
        { suspendedNs: () => duration(checks > 280 ? 1e9 : 0), worldNs: () => NO_WORLD },
        log,
      ),
    },
    body.actuator,
  );
  return { log, records };
}

test("a core fed with the log of a run repeats every record of it bit for bit", () => {
  const { log, records } = recordedRun();
  const kinds = new Set(records.map((record) => record[4]));
  expect(kinds.size).toBeGreaterThan(1);
  expect(recordsOf(replayOf(log), new DiscardingActuator())).toEqual(records);
});

// Each part of the log alone must be able to change the run, or it is not being replayed.
const forgeries: [string, (log: InputLog) => void][] = [
  ["a sample", ({ observations }) => observations[100]![0]!.record.fill(0.3, 8)],
  ["a chunk", ({ chunks }) => chunks.find((chunk) => chunk !== undefined)!.fill(0.1, 24)],
  ["a cue", ({ cues }) => cues.fill(OperatorCue.None, 100)],
  ["a silence", ({ silences }) => silences.fill(0)],
  ["a suspend", ({ suspendsNs }) => suspendsNs.fill(duration(0))],
];
test.each(forgeries)("%s changed in the log changes the replay", (_, forge) => {
  const { log, records } = recordedRun();
  forge(log);
  expect(recordsOf(replayOf(log), new DiscardingActuator())).not.toEqual(records);
});

test("the log keeps copies: what the ports do with their memory later changes nothing", () => {
  const log = new InputLog();
  const chunk = new ChunkView();
  const port: PolicyPort = {
    chunk,
    takeChunk: () => true,
    publish: () => undefined,
    beginEpoch: () => undefined,
  };
  const recording = new RecordingPolicyPort(port, log);
  chunk.values[0] = 5;
  recording.takeChunk(instant(0));
  chunk.values[0] = 6;
  expect(recording.chunk).toBe(chunk);
  const replay = new ReplayPolicyPort(log);
  expect([replay.takeChunk(), replay.chunk.values[0]]).toEqual([true, 5]);
});

test("a recording policy port hands states and epochs on", () => {
  const seen: unknown[] = [];
  const port: PolicyPort = {
    chunk: new ChunkView(),
    takeChunk: () => false,
    publish: (state) => seen.push(state),
    beginEpoch: (epoch) => seen.push(epoch),
  };
  const log = new InputLog();
  const recording = new RecordingPolicyPort(port, log);
  const state = new StateView(new Float64Array(layout.slotCount), layout);
  recording.publish(state);
  recording.beginEpoch(3);
  expect(recording.takeChunk(instant(0))).toBe(false);
  expect(seen).toEqual([state, 3]);
  expect(log.chunks).toEqual([undefined]);
});

test("a replayed sensor says what is new, and forgets it when nothing is", () => {
  const log = new InputLog();
  const record = new Float64Array(26).fill(4);
  log.observations.push([{ source: 0, record }], []);
  const snapshot = new SensorSnapshot(robot.sources);
  const replay = new ReplaySensor(log);
  replay.observeInto(snapshot);
  expect([snapshot.arrived[0], snapshot.samples[0]!.record[8]]).toEqual([1, 4]);
  replay.observeInto(snapshot);
  expect(snapshot.arrived[0]).toBe(0);
});

test("a replay that asks for more than was recorded is our own bug, and says so", () => {
  const log = new InputLog();
  const snapshot = new SensorSnapshot(robot.sources);
  const asks = [
    () => new ReplaySensor(log).observeInto(snapshot),
    () => new ReplayPolicyPort(log).takeChunk(),
    () => new ReplayCuePort(log).takeCue(),
    () => new ReplayAlive(log).check(),
    () => new ReplayMachine(log).suspendedNs(),
    () => new ReplayMachine(log).worldNs(),
  ];
  for (const ask of asks) expect(ask).toThrow(AssertionError);
});

test("without operator and other threads there are no cues and no silences", () => {
  expect([NO_CUES.takeCue(), ALL_ALIVE.check()]).toEqual([OperatorCue.None, 0]);
  const command = new CommandView(new Float64Array(commandSlotCount(1)), 1);
  expect(() => new DiscardingActuator().send(command)).not.toThrow();
});
