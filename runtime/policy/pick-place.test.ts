// Tests of the scripted expert on a cell of a few lines: an arm that follows at once (or droops), a
// jaw that stops at the object, an object that goes with the jaws and drops out of them. Physics is
// another test's business; here it is that every way a grasp can fail is noticed and made good.

import { expect, test } from "bun:test";
import type { ChunkView } from "../contracts/action.ts";
import { SequenceAllocator } from "../contracts/policy.ts";
import { instant } from "../contracts/units.ts";
import { Chain } from "../kinematics/chain.ts";
import { loadRobot, loadTask } from "../profile/load.ts";
import { testContext, testState } from "./fixture.ts";
import { PickPlacePolicy, pickPlacePhases } from "./pick-place.ts";
import type { PickPlacePhase } from "./pick-place.ts";

const ACT_NS = 50_000_000;
const robot = loadRobot("so101");
const task = loadTask("pick_place");
const context = testContext(robot, task);
const chain = new Chain(robot);
const GRIPPER = 5;
// Where a 30 mm object stops the jaw, as the physics has it.
const HELD_RAD = 0.2;
const HALF_M = task.objects[0]!.halfExtentsM[2];

class Cell {
  readonly policy = new PickPlacePolicy(context);
  readonly commandRad = Float64Array.from(robot.joints, (joint) => joint.homeRad);
  readonly positionRad = this.commandRad.slice();
  readonly tool = new Float64Array(7);
  cubeM = [0.2, 0.05, HALF_M];
  yawRad = 0.3;
  /** How the object lies before it is turned by the yaw: on another face. */
  tip: readonly [number, number, number, number] = [0, 0, 0, 1];
  droopRad = [0, 0, 0, 0, 0, 0];
  nowNs = 0;
  isHeld = false;
  canHold = true;
  squeezeRad = 0;
  readonly phases: PickPlacePhase[] = [];
  readonly commands: Float64Array[] = [];

  constructor() {
    this.policy.reset(1, new SequenceAllocator(1));
  }

  state() {
    const state = testState(context.layout, this.positionRad, this.nowNs);
    state.command.set(this.commandRad);
    const cube = state.field("cube_pose")!;
    const [x, y, z, w] = this.tip;
    const s = Math.sin(this.yawRad / 2);
    const c = Math.cos(this.yawRad / 2);
    const turn = [c * x - s * y, c * y + s * x, c * z + s * w, c * w - s * z];
    cube.values.set([...this.cubeM, ...turn]);
    return state;
  }

  /** One act of the policy and the ten ticks that follow it. */
  act(): PickPlacePhase {
    const chunk = this.policy.act(this.state(), instant(this.nowNs)) as ChunkView;
    for (let tick = 0; tick < 10; tick += 1) {
      const share = (this.nowNs + tick * 5_000_000 - chunk.validFromNs) / chunk.dtNs;
      const row = Math.floor(share);
      for (let joint = 0; joint < 6; joint += 1) {
        const from = chunk.values[row * 6 + joint]!;
        const to = chunk.values[(row + 1) * 6 + joint]!;
        this.commandRad[joint] = from + (to - from) * (share - row);
      }
      this.commands.push(this.commandRad.slice());
      this.step();
    }
    this.nowNs += ACT_NS;
    if (this.phases.at(-1) !== this.policy.phase) this.phases.push(this.policy.phase);
    return this.policy.phase;
  }

  /** Acts until a phase begins, or for a minute. */
  until(phase: PickPlacePhase): boolean {
    for (let count = 0; count < 1200; count += 1) if (this.act() === phase) return true;
    return false;
  }

  step(): void {
    for (let joint = 0; joint < GRIPPER; joint += 1) {
      this.positionRad[joint] = this.commandRad[joint]! - this.droopRad[joint]!;
    }
    chain.forwardInto(this.tool, this.positionRad);
    const commandRad = this.commandRad[GRIPPER]!;
    const isAround = Math.hypot(...this.cubeM.map((m, axis) => m - this.tool[axis]!)) < 0.01;
    const stops = this.canHold && (this.isHeld || isAround) && commandRad < HELD_RAD;
    this.positionRad[GRIPPER] = stops ? HELD_RAD : commandRad;
    this.isHeld = stops;
    if (stops) this.squeezeRad = Math.max(this.squeezeRad, HELD_RAD - commandRad);
    if (this.isHeld) this.cubeM = [...this.tool.slice(0, 3)];
    else this.cubeM[2] = HALF_M;
  }

  missM(): number {
    return Math.hypot(this.cubeM[0]! - task.goalM[0], this.cubeM[1]! - task.goalM[1]);
  }
}

test("it goes through its phases once, in order, and ends at home, the object on the goal", () => {
  const cell = new Cell();
  expect(cell.until("home")).toBe(true);
  expect(cell.phases).toEqual([...pickPlacePhases]);
  expect(cell.nowNs).toBeLessThan(15e9);
  for (let count = 0; count < 100; count += 1) cell.act();
  expect(cell.policy.phase).toBe("home");
  expect(cell.missM()).toBeLessThan(0.005);
  const home = robot.joints.slice(0, GRIPPER).map((joint) => joint.homeRad);
  const off = cell.commandRad.slice(0, GRIPPER).map((rad, joint) => Math.abs(rad - home[joint]!));
  expect(Math.max(...off)).toBeLessThan(1e-9);
});

test("it places objects from all over the task's sector, however they lie", () => {
  const { radiusMMin, radiusMMax, azimuthRadMin, azimuthRadMax } = task.objects[0]!.placement;
  for (let index = 0; index < 12; index += 1) {
    const cell = new Cell();
    const radiusM = radiusMMin + (radiusMMax - radiusMMin) * ((index * 0.618) % 1);
    const azimuthRad = azimuthRadMin + (azimuthRadMax - azimuthRadMin) * ((index * 0.382) % 1);
    cell.cubeM = [radiusM * Math.cos(azimuthRad), radiusM * Math.sin(azimuthRad), HALF_M];
    cell.yawRad = index;
    expect([index, cell.until("home"), cell.phases.length]).toEqual([index, true, 10]);
    expect(cell.missM()).toBeLessThan(0.005);
  }
});

test("the jaws meet two faces, whichever the box lies on, and turn no more than needed", () => {
  const h = Math.SQRT1_2;
  const tips = [
    [0, 0, 0, 1],
    [h, 0, 0, h],
    [0, h, 0, h],
    [0, -h, 0, h],
    [0.5, 0.5, 0.5, 0.5],
  ];
  for (const tip of tips) {
    for (const yawRad of [0, 0.4, 0.7, 2, -2.5]) {
      const cell = new Cell();
      cell.tip = tip as unknown as Cell["tip"];
      cell.yawRad = yawRad;
      expect(cell.until("close")).toBe(true);
      const [, , , x = 0, y = 0, z = 0, w = 0] = cell.tool;
      const openingRad = Math.atan2(2 * (y * z - w * x), 2 * (x * z + w * y));
      const offRad = (openingRad - yawRad) / (Math.PI / 2);
      expect(Math.abs(offRad - Math.round(offRad))).toBeLessThan(0.03);
      // Half a quarter turn, and the arm's own turn towards the object.
      expect(Math.abs(cell.positionRad[4]!)).toBeLessThan(Math.PI / 4 + 0.35);
    }
  }
});

test("no command of a whole run leaves the limits or asks more than the gate gives", () => {
  const cell = new Cell();
  cell.canHold = false; // misses twice, so that every way back is driven too
  for (let count = 0; count < 300; count += 1) cell.act();
  cell.canHold = true;
  expect(cell.until("home")).toBe(true);
  const periodS = 0.005;
  let before = cell.commands[0]!;
  let velocity = new Float64Array(6);
  for (const command of cell.commands) {
    for (const [index, joint] of robot.joints.entries()) {
      const rad = command[index]!;
      const radPerS = (rad - before[index]!) / periodS;
      const radPerS2 = (radPerS - velocity[index]!) / periodS;
      expect(rad).toBeGreaterThanOrEqual(joint.positionRadMin);
      expect(rad).toBeLessThanOrEqual(joint.positionRadMax);
      expect(Math.abs(radPerS)).toBeLessThan(joint.velocityRadPerSMax);
      // The jaw that meets an object stops at once: braking it is the gate's.
      if (index !== GRIPPER) {
        expect(Math.abs(radPerS2)).toBeLessThan(joint.motion.accelerationRadPerS2);
      }
    }
    velocity = command.map((rad, index) => (rad - before[index]!) / periodS);
    before = command;
  }
});

test("it squeezes by less than the lead and the following error allow", () => {
  const cell = new Cell();
  cell.until("home");
  const jaw = robot.joints[GRIPPER]!;
  expect(cell.squeezeRad).toBeGreaterThan(0.1);
  expect(cell.squeezeRad).toBeLessThan(3 * 0.06 + 0.08);
  expect(cell.squeezeRad).toBeLessThan(jaw.followingErrorRadMax);
});

test("a servo that droops is raised, so that the jaws meet the object where it lies", () => {
  const cell = new Cell();
  cell.droopRad = [0, 0.03, -0.035, 0.02, 0, 0];
  cell.step();
  expect(cell.until("close")).toBe(true);
  const missM = Math.hypot(...[0.2, 0.05, HALF_M].map((m, axis) => m - cell.tool[axis]!));
  expect(missM).toBeLessThan(0.001);
  expect(cell.until("home")).toBe(true);
});

test("an object that is moved before the jaws close is approached again", () => {
  for (const phase of ["approach", "descend"] as const) {
    const cell = new Cell();
    expect(cell.until(phase)).toBe(true);
    cell.cubeM = [0.22, -0.06, HALF_M];
    expect(cell.until("home")).toBe(true);
    const again = pickPlacePhases.slice(0, pickPlacePhases.indexOf(phase) + 1);
    expect(cell.phases).toEqual([...again, ...pickPlacePhases]);
  }
});

test("jaws that close on nothing open and try again", () => {
  const cell = new Cell();
  cell.canHold = false;
  expect(cell.until("close")).toBe(true);
  expect(cell.until("approach")).toBe(true);
  cell.canHold = true;
  expect(cell.until("home")).toBe(true);
  expect(cell.phases).toEqual([...pickPlacePhases.slice(0, 4), ...pickPlacePhases]);
});

test("an object that slips out on the way up or across is fetched again", () => {
  for (const phase of ["lift", "carry"] as const) {
    const cell = new Cell();
    expect(cell.until(phase)).toBe(true);
    cell.canHold = false;
    for (let count = 0; count < 4; count += 1) cell.act();
    cell.canHold = true;
    cell.isHeld = false;
    cell.cubeM = [0.2, 0.02, HALF_M];
    expect(cell.until("home")).toBe(true);
    const again = pickPlacePhases.slice(0, pickPlacePhases.indexOf(phase) + 1);
    expect(cell.phases).toEqual([...again, ...pickPlacePhases]);
    expect(cell.missM()).toBeLessThan(0.005);
  }
});

test("an object taken away from the goal afterwards is fetched again", () => {
  const cell = new Cell();
  expect(cell.until("home")).toBe(true);
  for (let count = 0; count < 60; count += 1) cell.act();
  cell.cubeM = [0.22, -0.06, HALF_M];
  expect(cell.until("clear")).toBe(true);
  expect(cell.until("home")).toBe(true);
  expect(cell.missM()).toBeLessThan(0.005);
});

test("an object out of reach is waited for, standing still, and taken when it comes", () => {
  const cell = new Cell();
  cell.cubeM = [0.6, 0.1, HALF_M];
  for (let count = 0; count < 40; count += 1) cell.act();
  expect(cell.phases).toEqual(["clear"]);
  expect([...cell.commandRad]).toEqual(robot.joints.map((joint) => joint.homeRad));
  cell.cubeM = [0.22, -0.06, HALF_M];
  expect(cell.until("home")).toBe(true);
});

test("an arm that starts low goes up before it goes anywhere", () => {
  const cell = new Cell();
  cell.until("close"); // a pose with the fingers at the table
  const low = cell.commandRad.slice();
  const other = new Cell();
  other.cubeM = [0.22, -0.06, HALF_M];
  other.commandRad.set(low);
  other.positionRad.set(low);
  const heights: number[] = [];
  const reach: number[] = [];
  while (other.act() === "clear") {
    heights.push(other.tool[2]!);
    reach.push(Math.hypot(other.tool[0]! - 0.2, other.tool[1]! - 0.05));
  }
  expect(heights.at(-1)!).toBeGreaterThan(HALF_M + 0.055);
  expect(Math.max(...reach)).toBeLessThan(0.003);
});

test("a new epoch forgets everything: the robot may be anywhere", () => {
  const cell = new Cell();
  expect(cell.until("carry")).toBe(true);
  cell.policy.reset(2, new SequenceAllocator(2));
  const chunk = cell.policy.act(cell.state(), instant(cell.nowNs)) as ChunkView;
  expect([chunk.epoch, chunk.seq, cell.policy.phase]).toEqual([2, 1, "clear"]);
  expect(chunk.values.slice(0, 6)).toEqual(cell.commandRad);
});
