// Tests of the profile loader with good files: every field arrives in its unit, built-in profiles
// give the numbers they are known for, and deployments choose among what the robot offers. Names
// and files that are not there are refused here too.

import { expect, test } from "bun:test";
import Ajv2020 from "ajv/dist/2020";
import { duration } from "../contracts/units.ts";
import { builtinFiles, robotNames, taskNames } from "./builtin.ts";
import { edit, GOOD, MODEL, placeOf, problemsOf, read } from "./fixtures/two.ts";
import { loadDeployment, loadProfile, loadRobot, loadTask } from "./load.ts";
import { fileError, ProfileError } from "./problem.ts";
import { schemas } from "./schema-check.ts";

test("an unknown name, a missing file and a folder are refused", () => {
  const messages = ["so102", "./nowhere.yaml", "/"].map((name) => {
    try {
      return String(loadRobot(name));
    } catch (error) {
      return error instanceof ProfileError ? error.message : String(error);
    }
  });
  expect(messages).toEqual([
    `so102: expected one of ${robotNames.join(", ")} (did you mean "so101"?), or a path, ` +
      "found an unknown name",
    "./nowhere.yaml: expected a file, found nothing there",
    "/: expected a regular file, found something else",
  ]);
});

test("a checked joint has our units and unit quaternions", () => {
  const [first, second] = loadRobot("robots/two.yaml", read(GOOD)).joints;
  const half = Math.SQRT1_2;
  expect(second!.originWxyz.map((part) => Number(part.toFixed(15)))).toEqual(
    [half, half, 0, 0].map((part) => Number(part.toFixed(15))),
  );
  expect(first as object).toEqual({
    name: "first",
    command: "position",
    originM: [0, 0, 0.1],
    originWxyz: [1, 0, 0, 0],
    axis: [0, 0, 1],
    positionRadMin: -1.5,
    positionRadMax: 1.25,
    velocityRadPerSMax: 3,
    motion: { accelerationRadPerS2: 15, jerkRadPerS3: 600 },
    stop: { accelerationRadPerS2: 30, jerkRadPerS3: 3000 },
    effortNmMax: 2.9,
    leadNs: duration(60_000_000),
    droopRad: 0.08,
    followingErrorRadMax: 0.22,
    startMismatchRadMax: 0.3,
    homeRad: 0.5,
    restRad: -0.5,
  });
});

test("a checked robot has every field of its file", () => {
  const robot = loadRobot("robots/two.yaml", read(GOOD));
  expect({ ...robot, joints: robot.joints.length } as object).toEqual({
    name: "two",
    description: "Two joints",
    path: "robots/two.yaml",
    defaultTask: "none",
    controlHz: 200,
    periodNs: 5_000_000,
    powerCut: "falls",
    safeActions: { degraded: "hold", stop: "hold", latch: "hold" },
    parkNs: 4_321_000_000,
    joints: 2,
    toolParent: "second",
    toolM: [0, 0, 0.2],
    toolWxyz: [1, 0, 0, 0],
    gripper: "second",
    sources: [sourceOfTwo],
    gate: {
      startMismatch: "refuse",
      followingErrorTicks: 20,
      workspace: { minM: [-0.5, -0.4, 0], maxM: [0.5, 0.4, 0.6] },
      toolSpeedMPerSMax: 1.5,
    },
    state: { validityNs: 14_000_000, windowNs: 200_000_000, qualityRatioMin: 0.5 },
    policy: {
      hz: 20,
      horizon: 16,
      dtNs: 20_000_000,
      anchoring: "arrival",
      interpolation: "linear",
      blendNs: 0,
    },
    supervisor: supervisorOfTwo,
    sim: {
      modelXml: MODEL,
      modelPath: "robots/two.xml",
      physicsStepNs: 2_500_000,
      actuators: { name: "soft", stiffnessNmPerRad: [35, 36], dampingNmSPerRad: [0.8, 0] },
      camera: { id: "scene", widthPx: 224, heightPx: 225, periodNs: 50_000_000 },
      payloadKg: 0.01,
      payloadKgMax: 0.5,
    },
  });
});

const sourceOfTwo = {
  id: "encoders",
  kind: "proprio",
  periodNs: 5_000_000,
  validityNs: 15_000_000,
  joints: ["first", "second"],
  measuresVelocity: true,
  measuresEffort: false,
  frame: "joint",
};

const supervisorOfTwo = {
  startsIn: "Starting",
  startTimeoutNs: 10_000_000_000,
  noActionPersistNs: 500_000_000,
  staleStatePersistNs: 201_000_000,
  relapseCount: 3,
  relapseWindowNs: 60_000_000_000,
  lateNsMax: 12_000_000,
  missCountMax: 10,
  missWindowTicks: 199,
  coastTicks: 0,
};

test("every built-in name loads, and from a path the same file gives the same robot", () => {
  for (const name of robotNames) expect(loadRobot(name).joints.length).toBeGreaterThan(0);
  for (const name of taskNames) expect(loadTask(name).name).toBe(name);
  const path = "elsewhere/so101.yaml";
  const texts = new Map([
    [path, builtinFiles.get("profiles/so101.yaml")],
    ["elsewhere/models/so101.xml", builtinFiles.get("profiles/models/so101.xml")],
  ]);
  const copy = loadRobot(path, (asked) => texts.get(asked));
  const original = loadRobot("so101");
  const sim = { ...original.sim, modelPath: "elsewhere/models/so101.xml" };
  expect(copy as object).toEqual({ ...original, path, sim });
});

test("the schemas are valid, and none allows a key that it does not name", () => {
  const ajv = new Ajv2020({ strict: true });
  for (const schema of Object.values(schemas)) {
    expect(ajv.validateSchema(schema)).toBe(true);
    const text = JSON.stringify(schema);
    const objectCount = text.split('"type":"object"').length;
    expect(text.split('"additionalProperties":false').length).toBe(objectCount);
  }
});

test("document-one has the numbers of the behaviour tests", () => {
  const robot = loadRobot("document-one");
  const { positionRadMax, velocityRadPerSMax, motion, stop, leadNs, droopRad } = robot.joints[0]!;
  expect({ positionRadMax, velocityRadPerSMax, motion, stop, leadNs, droopRad } as object).toEqual({
    positionRadMax: 100,
    velocityRadPerSMax: 5,
    motion: { accelerationRadPerS2: 1e4, jerkRadPerS3: 1e7 },
    stop: { accelerationRadPerS2: 1e4, jerkRadPerS3: 1e7 },
    leadNs: 20_000_000,
    droopRad: 0,
  });
  expect(robot.controlHz).toBe(50);
  expect(robot.sim).toBeUndefined();
  expect([robot.supervisor.startsIn, robot.policy.interpolation]).toEqual(["Running", "hold"]);
});

test("a deployment chooses preset and payload and leaves the rest of the robot alone", () => {
  const plain = loadDeployment("so101");
  const soft = loadDeployment("so101-servo-payload");
  const { actuators } = soft.robot.sim!;
  expect(actuators.stiffnessNmPerRad).toEqual([35, 35, 35, 35, 35, 35]);
  expect(plain.robot.sim!.actuators.stiffnessNmPerRad).toEqual([998, 998, 998, 998, 998, 998]);
  const sim = { ...plain.robot.sim!, actuators, payloadKg: 0.2 };
  expect(soft as object).toEqual({
    name: "so101-servo-payload",
    description: "SO-101 with a real servo's droop and 0.2 kg at the tool",
    path: "profiles/deployments/so101-servo-payload.yaml",
    robot: { ...plain.robot, sim },
    task: "pick_place",
  });
  expect(loadRobot("so101-servo-payload")).toEqual(soft.robot);
});

test("a deployment file names its robot by path and its problems by place", () => {
  const head = "kind: deployment\nschema_version: 1\nname: mine\ndescription: Mine\n";
  const disk = (extra: string) => (asked: string) =>
    asked === "sites/mine.yaml" ? head + extra : read(GOOD)(asked);
  const good = "robot: ../robots/two.yaml\npolicy: sine\npayload_kg: 0.3\n";
  const { robot, task, policy } = loadDeployment("sites/mine.yaml", disk(good));
  expect([robot.name, robot.sim?.payloadKg, task, policy]).toEqual(["two", 0.3, "none", "sine"]);
  const bad = (extra: string) => problemsOf(() => loadRobot("sites/mine.yaml", disk(extra)))[0];
  expect(bad("robot: ../robots/two.yaml\nactuators: hard\n")).toMatchObject({
    line: 6,
    column: 12,
    field: "actuators",
    expected: '"soft"',
    found: '"hard"',
  });
  expect(bad("robot: so102\n")).toMatchObject({ line: 5, field: "robot", found: '"so102"' });
  expect(bad("robot: so101\npayload_kg: 0.3\n")).toMatchObject({
    line: 6,
    field: "payload_kg",
    expected: "at most payload_kg_max of so101 (0.25)",
  });
  expect(bad("robot: document-one\npayload_kg: 1\n")).toMatchObject({
    line: 6,
    field: "payload_kg",
  });
  expect(bad("robot: ./nowhere.yaml\n")).toMatchObject({
    file: "sites/mine.yaml",
    line: 5,
    column: 8,
    field: "robot",
    expected: "a file",
    found: "nothing there at sites/nowhere.yaml",
  });
  expect(bad("robot: so101-servo\n")).toMatchObject({ file: "sites/mine.yaml", line: 5 });
  expect(bad("robot: so101\ntask: pickplace\n")).toMatchObject({ line: 6, field: "task" });
});

test("all that is wrong with a deployment is told at once, its robot's file as well", () => {
  const text = `kind: deployment
schema_version: 1
name: mine
description: Mine
robot: ../robots/two.yaml
actuators: hard
payload: 1
payload_kg: 99
task: pickplace
`;
  const problems = (robot: string) =>
    problemsOf(() =>
      loadDeployment("sites/mine.yaml", (asked) =>
        asked === "sites/mine.yaml" ? text : read(robot)(asked),
      ),
    ).map(({ file, line, field }) => `${file}:${line}: ${field}`);
  const own = ["6: actuators", "7: payload", "8: payload_kg", "9: task"];
  expect(problems(GOOD)).toEqual(own.map((each) => `sites/mine.yaml:${each}`));
  expect(problems(GOOD.replace("\ncontrol_hz", "\ncontrol_herz"))).toEqual([
    ...own.map((each) => `sites/mine.yaml:${each}`),
    expect.stringMatching(/^robots\/two\.yaml:\d+: control_herz$/),
  ]);
  // A misspelt section says nothing of what a deployment may choose, and a file of no sense less.
  expect(problems(GOOD.replace("\nsim:", "\nsmi:"))).toEqual([
    "sites/mine.yaml:7: payload",
    "sites/mine.yaml:9: task",
    expect.stringMatching(/^robots\/two\.yaml:\d+: smi$/),
  ]);
  expect(problems(`${GOOD}x: [`)).toEqual([
    "sites/mine.yaml:7: payload",
    "sites/mine.yaml:9: task",
    expect.stringMatching(/^robots\/two\.yaml:\d+: $/),
  ]);
});

test("a choice that no built-in robot has is told beside a robot that is none", () => {
  const text = `kind: deployment
schema_version: 1
name: mine
description: Mine
robot: so102
actuators: srvo
payload_kg: 90
task: foo
`;
  const said = (from: string, to: string) =>
    problemsOf(() => loadDeployment("mine.yaml", () => text.replace(from, to))).map(
      ({ field, expected }) => [field, expected],
    );
  expect(said("", "")).toEqual([
    ["robot", expect.stringMatching(/did you mean "so101"\?\), or a path$/)],
    ["actuators", 'one of stiff, servo (did you mean "servo"?)'],
    ["payload_kg", expect.stringMatching(/^at most payload_kg_max of so101 or ur5e \(\d/)],
    ["task", "one of none, reach, reach_far, pick_place"],
  ]);
  expect(said("srvo", "servo").map(([field]) => field)).toEqual(["robot", "payload_kg", "task"]);
});

test("a model that is a folder is blamed on the line that names it", () => {
  const says = (found: string) => (asked: string) => {
    if (asked !== "robots/two.xml") return read(GOOD)(asked);
    throw fileError(asked, "a regular file", found);
  };
  expect(problemsOf(() => loadRobot("robots/two.yaml", says("something else")))).toEqual([
    {
      file: "robots/two.yaml",
      ...placeOf(GOOD, "two.xml"),
      field: "sim.model",
      expected: "a regular file",
      found: "something else at robots/two.xml",
    },
  ]);
});

test.each(["|", "|-", ">", ">-", "|2", "> # two joints"])(
  "a text in a block is the same text as on the line of its key: %s",
  (style) => {
    const text = edit(GOOD, "description: Two joints", `description: ${style}\n  Two joints`);
    for (const written of [text, text.replaceAll("\n", "\r\n")]) {
      const { description } = loadRobot("robots/two.yaml", read(written));
      expect(description).toBe("Two joints");
    }
  },
);

test("what is loaded is frozen throughout, by whichever door", () => {
  const isFrozen = (value: unknown): boolean =>
    typeof value !== "object" ||
    value === null ||
    (Object.isFrozen(value) && Object.values(value).every(isFrozen));
  const loaded = [
    ...[...robotNames, ...taskNames].map((name) => loadProfile(name)),
    ...robotNames.flatMap((name) => [loadRobot(name), loadDeployment(name)]),
    ...taskNames.map((name) => loadTask(name)),
  ];
  expect(loaded.map(isFrozen)).toEqual(loaded.map(() => true));
});

test("loadProfile says what a file is, and a file of another kind is refused", () => {
  expect(loadProfile("reach").kind).toBe("task");
  expect(loadProfile("ur5e").kind).toBe("robot");
  expect(loadProfile("so101-servo").kind).toBe("deployment");
  const text = builtinFiles.get("profiles/tasks/reach.yaml")!;
  expect(problemsOf(() => loadRobot("my/reach.yaml", () => text))).toEqual([
    {
      file: "my/reach.yaml",
      ...placeOf(text, "task\nschema"),
      field: "kind",
      expected: "one of robot, deployment",
      found: '"task"',
    },
  ]);
});

test("a robot says how its pictures go to a host; without a word they go as pixels", () => {
  const encodingOf = (more: string) => {
    const text = GOOD.replace("blend_ms: 0 }", `blend_ms: 0${more} }`);
    return loadRobot("robots/two.yaml", read(text)).policy.pictureEncoding;
  };
  expect(encodingOf("")).toBeUndefined();
  expect(encodingOf(", picture_encoding: rgb8")).toBe("rgb8");
  expect(encodingOf(", picture_encoding: jpeg")).toBe("jpeg");
});
