// Tests of the task judge on made-up truth: what counts as reached and as placed, how long it must
// last, when an episode ends, and what the reward says on the way. No physics.

import { expect, test } from "bun:test";
import type { JointProfile, RobotProfile, TaskProfile } from "../runtime/contracts/profile.ts";
import { duration, instant } from "../runtime/contracts/units.ts";
import { TaskJudge, TaskTruth } from "./task-judge.ts";

const gripper = { name: "jaw", positionRadMin: -0.2, positionRadMax: 1.8 } as JointProfile;
const robot = { joints: [gripper], gripper: "jaw" } as unknown as RobotProfile;
const flange = { joints: [gripper] } as unknown as RobotProfile;

function taskOf(kind: TaskProfile["kind"]): TaskProfile {
  return {
    name: kind,
    kind,
    description: "",
    path: "",
    instruction: "",
    objects: [
      {
        name: "cube",
        halfExtentsM: [0.015, 0.015, 0.015],
        massKg: 0.03,
        rgba: [1, 0, 0, 1],
        placement: { radiusMMin: 0.1, radiusMMax: 0.2, azimuthRadMin: 0, azimuthRadMax: 1 },
      },
    ],
    goalM: [0.2, 0.1, 0],
    goalRadiusM: 0.05,
    dwellNs: duration(50e6),
    timeLimitNs: duration(1e9),
    sources: [],
    requires: [],
    qualityRatioMin: 0.5,
    defaultPolicy: "hold",
  };
}

type Scene = { tool?: number[]; cube?: number[]; jawRad?: number };

/** Placed: on the goal, on the table, jaws shut but a hand away. */
const PLACED: Scene = { cube: [0.21, 0.1, 0.015], tool: [0.2, 0.1, 0.15], jawRad: 0 };

class Episode {
  readonly judge: TaskJudge;
  readonly #truth = new TaskTruth(1, 1);
  #nowNs = 1e9;

  constructor(kind: TaskProfile["kind"], profile: RobotProfile = robot) {
    this.judge = new TaskJudge(taskOf(kind), profile);
    this.judge.begin(instant(this.#nowNs));
  }

  /** Steps of 10 ms in which the scene stays as given. */
  see(scene: Scene, steps = 1): { rewardRatio: number; done: boolean; success: boolean } {
    this.#truth.toolPose.set(scene.tool ?? [0, 0, 0]);
    this.#truth.objectPoses.set(scene.cube ?? [0, 0, 0.015]);
    this.#truth.positionRad[0] = scene.jawRad ?? 0;
    for (let step = 0; step < steps; step += 1) {
      this.#nowNs += 10e6;
      this.judge.step(this.#truth, instant(this.#nowNs));
    }
    const { rewardRatio, done, success } = this.judge;
    return { rewardRatio, done, success };
  }
}

const met = { rewardRatio: 1, done: false, success: false };
const won = { rewardRatio: 1, done: true, success: true };

test("reach succeeds once the tool has been within the radius for the dwell", () => {
  const episode = new Episode("reach");
  expect(episode.see({ tool: [0.2, 0.1, 0.04] }, 5)).toEqual(met);
  expect(episode.see({ tool: [0.2, 0.1, 0.04] })).toEqual(won); // 50 ms since the first
});

test("leaving the goal starts the dwell again", () => {
  const episode = new Episode("reach");
  episode.see({ tool: [0.2, 0.1, 0.04] }, 5);
  expect(episode.see({ tool: [0.2, 0.1, 0.06] })).toMatchObject({ done: false, success: false });
  expect(episode.see({ tool: [0.2, 0.1, 0.05] }, 5)).toEqual(met);
  expect(episode.see({ tool: [0.2, 0.1, 0.05] })).toEqual(won);
});

test("success is latched and a mishap later does not undo it", () => {
  const episode = new Episode("reach");
  episode.see({ tool: [0.2, 0.1, 0] }, 6);
  expect(episode.see({ tool: [1, 1, 1] })).toEqual({ rewardRatio: -1, done: true, success: true });
});

test("the time limit ends an episode without success, and a late goal is too late", () => {
  const episode = new Episode("reach");
  expect(episode.see({}, 99)).toMatchObject({ done: false });
  expect(episode.see({})).toMatchObject({ done: true, success: false });
  expect(episode.see({ tool: [0.2, 0.1, 0] }, 20)).toMatchObject({ done: true, success: false });
});

test("pick_place succeeds with the cube on the goal, still, on the table and let go of", () => {
  const episode = new Episode("pick_place");
  expect(episode.see(PLACED)).toMatchObject({ success: false }); // one look cannot tell it is still
  expect(episode.see(PLACED, 5)).toEqual(met);
  expect(episode.see(PLACED)).toEqual(won);
});

test("an open jaw around the cube counts as let go of", () => {
  const inHand = { ...PLACED, tool: [0.21, 0.1, 0.02] };
  expect(new Episode("pick_place").see({ ...inHand, jawRad: 0.8 }, 8)).toEqual(won);
  expect(new Episode("pick_place", flange).see({ ...inHand, jawRad: 1.8 }, 8).success).toBe(false);
});

const failures: [why: string, scene: Scene][] = [
  ["beside the goal", { ...PLACED, cube: [0.26, 0.1, 0.015] }],
  ["in the air", { ...PLACED, cube: [0.2, 0.1, 0.05] }],
  ["on its edge", { ...PLACED, cube: [0.2, 0.1, 0.0212] }],
  ["in a jaw that is half shut", { ...PLACED, tool: [0.21, 0.1, 0.02], jawRad: 0.79 }],
];

test.each(failures)("a cube %s is not placed", (_, scene) => {
  expect(new Episode("pick_place").see(scene, 20).success).toBe(false);
});

test("a cube that slides over the goal is not placed", () => {
  const episode = new Episode("pick_place");
  for (let step = 0; step < 20; step += 1) {
    const cube = [0.17 + step * 0.002, 0.1, 0.015]; // 0.2 m/s
    expect(episode.see({ ...PLACED, cube }).success).toBe(false);
  }
});

test("the reward rises as the tool nears the cube and the cube nears the goal", () => {
  const rewards = [
    { cube: [0, 0, 0.015], tool: [0, 0, 0.3] },
    { cube: [0, 0, 0.015], tool: [0, 0, 0.1] },
    { cube: [0.1, 0.1, 0.1], tool: [0.1, 0.1, 0.1] },
    { cube: [0.2, 0.1, 0.1], tool: [0.2, 0.1, 0.1] },
  ].map((scene) => new Episode("pick_place").see(scene).rewardRatio);
  expect(rewards).toEqual([...rewards].sort((a, b) => a - b));
  expect(new Set(rewards).size).toBe(4);
  expect(rewards[0]).toBeCloseTo(-(0.285 / 0.5 + Math.hypot(0.2, 0.1) / 0.5) / 2, 12);
  expect(rewards[3]).toBe(-0);
});

test("a task without a goal never ends and rewards nothing", () => {
  const none = { rewardRatio: 0, done: false, success: false };
  expect(new Episode("none").see(PLACED, 200)).toEqual(none);
});

test("a world that is not finite ends the episode without success", () => {
  const broken = { rewardRatio: -1, done: true, success: false };
  expect(new Episode("pick_place").see({ cube: [Number.NaN, 0, 0] })).toEqual(broken);
  expect(new Episode("reach").see({ tool: [Number.NaN, 0, 0] })).toEqual(broken);
});

test("an episode that begins again starts from nothing", () => {
  const episode = new Episode("reach");
  episode.see({ tool: [0.2, 0.1, 0] }, 6);
  episode.judge.begin(instant(5e9));
  const { rewardRatio, done, success } = episode.judge;
  expect({ rewardRatio, done, success }).toEqual({ rewardRatio: 0, done: false, success: false });
});
