// What the core hands from one stage to another outside the tick's own order: a look before the
// first tick, and a fault that leaves reduced motion. Each is seen in the commands alone.

import { expect, test } from "bun:test";
import { Fault } from "../../safety/faults.ts";
import { testJoint, testProfile } from "../../safety/fixture.ts";
import { ChunkSlot, ChunkView } from "../contracts/action.ts";
import { CommandSlot, commandKindNames } from "../contracts/command.ts";
import { OperatorCue } from "../contracts/mode.ts";
import type { RobotProfile } from "../contracts/profile.ts";
import { SampleSlot } from "../contracts/sample.ts";
import { StateLayout } from "../contracts/state.ts";
import { instant, milliseconds } from "../contracts/units.ts";
import { loadRobot } from "../profile/load.ts";
import { ControlCore } from "./core.ts";
import { controlTick } from "./tick.ts";

const MS = 1e6;
const FINGERPRINT = 7;

/** A core over a robot that is at once where it was told to be. */
class Rig {
  readonly core: ControlCore;
  readonly kinds: string[] = [];
  readonly positionRad: Float64Array;
  isSilent = false;
  faultBits = 0;
  /** Where every joint is to go, in one row; undefined for no decision. */
  goalRad: readonly number[] | undefined;
  #seq = 0;

  constructor(profile: RobotProfile) {
    this.positionRad = Float64Array.from(profile.joints, ({ homeRad }) => homeRad);
    this.core = new ControlCore({
      profile,
      layout: new StateLayout(profile, profile.sources, ""),
      schemaFingerprint: FINGERPRINT,
      sensor: {
        observeInto: (snapshot, nowNs) => {
          snapshot.clear();
          if (this.isSilent) return;
          const { record, payload } = snapshot.samples[0]!;
          record[SampleSlot.sensorStampNs] = nowNs - 2 * MS;
          record[SampleSlot.receiveNs] = nowNs - MS;
          record[SampleSlot.validMask] = 2 ** this.positionRad.length - 1;
          payload.set(this.positionRad);
          snapshot.arrived[0] = 1;
        },
      },
      actuator: {
        send: (command) => {
          this.kinds.push(commandKindNames[command.record[CommandSlot.kind]!]!);
          this.positionRad.set(command.values);
        },
      },
      policy: {
        chunk: new ChunkView(),
        takeChunk: (nowNs) => this.#decide(nowNs),
        publish: () => undefined,
        beginEpoch: () => undefined,
      },
      cues: { takeCue: () => OperatorCue.None },
      alive: { check: () => this.faultBits },
      ticks: { write: () => undefined },
      evidence: { note: () => undefined },
      deadlineIsFault: false,
    });
  }

  tick(nowMs: number): void {
    controlTick(this.core, instant(nowMs * MS));
  }

  #decide(nowNs: number): boolean {
    if (this.goalRad === undefined) return false;
    const { chunk } = this.core.policy;
    this.#seq += 1;
    chunk.begin(this.core.epoch, this.#seq, 1, this.goalRad.length, milliseconds(100));
    chunk.record[ChunkSlot.schemaFingerprint] = FINGERPRINT;
    chunk.setWindow(instant(nowNs), instant(nowNs + 100 * MS));
    chunk.values.set(this.goalRad);
    return true;
  }
}

const arm = (): RobotProfile => {
  const joints = testProfile([testJoint()]);
  const bus = {
    id: "arm",
    kind: "proprio" as const,
    periodNs: milliseconds(5),
    validityNs: milliseconds(15),
    joints: ["joint"],
    measuresVelocity: false,
    measuresEffort: false,
    frame: "joint",
  };
  return { ...joints, sources: [bus] };
};

test("looks before the first tick are enough for the gate to hold where the robot is", () => {
  const kindAfter = (looksMs: readonly number[], silentLooks: boolean): string[] => {
    const rig = new Rig(arm());
    rig.positionRad[0] = 0.4;
    rig.core.prime(instant(-40 * MS));
    rig.isSilent = silentLooks;
    for (const ms of looksMs) rig.core.look(instant(ms * MS));
    rig.isSilent = true;
    rig.tick(5);
    return [...rig.kinds, rig.positionRad[0]!.toFixed(3)];
  };
  expect(kindAfter([-10, -5, 0], false)).toEqual(["hold", "0.400"]);
  expect(kindAfter([], false)[0]).toBe("none");
  expect(kindAfter([-10, -5, 0], true)[0]).toBe("none");
});

test("a fault that leaves reduced motion keeps the arm slow for as long as it is there", () => {
  const fastest = (faultBits: number): number => {
    const so101 = loadRobot("so101");
    const supervisor = { ...so101.supervisor, startsIn: "Running" as const };
    const gate = { ...so101.gate, startMismatch: "ramp" as const };
    const rig = new Rig({ ...so101, supervisor, gate });
    rig.core.prime(instant(0));
    rig.faultBits = faultBits;
    rig.goalRad = so101.joints.map(({ homeRad }, at) => (at === 0 ? homeRad + 1.5 : homeRad));
    let most = 0;
    for (let tick = 1; tick < 200; tick += 1) {
      const before = rig.positionRad[0]!;
      rig.tick(tick * 5);
      most = Math.max(most, Math.abs(rig.positionRad[0]! - before));
    }
    return most;
  };
  const full = fastest(0);
  expect(full).toBeGreaterThan(0);
  expect(fastest(1 << Fault.PolicySlow)).toBeLessThan(0.8 * full);
});
