// A policy on a policy host: one thread a robot, so that a slow or hung policy keeps neither the
// line nor another robot waiting. It gets observations and answers decisions, by messages: nothing
// here is real-time, and nothing here touches a robot.

import { isMainThread, parentPort, workerData } from "node:worker_threads";
import { create } from "@bufbuild/protobuf";
import { decodeJpeg } from "../../hal/jpeg.ts";
import { ANCHOR_BY_PROFILE, schemaFingerprint } from "../contracts/action.ts";
import { assert } from "../contracts/assert.ts";
import {
  OBS_SIDE_PX,
  OBS_TRANSFORM_SHA256,
  OBS_TRANSFORM_VERSION,
} from "../contracts/obs-transform.ts";
import type { RobotProfile, TaskProfile } from "../contracts/profile.ts";
import { StateView } from "../contracts/state.ts";
import { duration, instant } from "../contracts/units.ts";
import { fieldsOf } from "../link/edge-messages.ts";
import type { Observation, PolicyFacts } from "../link/generated/policy_pb.js";
import { ObservationSchema, PolicyFactsSchema } from "../link/generated/policy_pb.js";
import type { Decision } from "../link/host-session.ts";
import { HostPictures, readPictures, writeState, zerosOf } from "../link/host-state.ts";
import { policyContext } from "../policy/context.ts";
import { errorWords } from "../policy/error-text.ts";
import { HostedActs } from "../policy/hosted-acts.ts";
import { loadPolicy } from "../policy/load-policy.ts";
import { isOnnxPath, policyKind } from "../policy/policy-kind.ts";
import { openOnnx } from "./onnx-file.ts";
import { policyDigest } from "./policy-digest.ts";
import { layoutOf } from "./plan.ts";
import { sessionOrigin, SystemClock } from "./system-clock.ts";

export type HostPolicyPlan = {
  readonly robot: RobotProfile;
  readonly task: TaskProfile;
  /** A name of the registry, or a path. */
  readonly policy: string;
  /** 99 of 100 answers come within this; 0: no promise. */
  readonly promiseNs: number;
};

/** What the thread is given, and what it sends: with a word that no policy's own message has. */
export type MarkedPlan = HostPolicyPlan & { readonly word: string };
export type MarkedMessage = { readonly word: string; readonly message: FromHostPolicy };

export type ToHostPolicy =
  | { readonly kind: "reset"; readonly epoch: number }
  | { readonly kind: "act"; readonly observation: Observation };

export type FromHostPolicy =
  | { readonly kind: "made"; readonly facts: PolicyFacts }
  | { readonly kind: "ready" }
  /** `trouble` is what it threw instead of deciding; empty when it threw nothing. */
  | { readonly kind: "decided"; readonly decision: Decision | null; readonly trouble: string }
  | { readonly kind: "threw"; readonly text: string };

const WARM_UP_EPOCH = 0;
/** When an epoch begins here: late enough for the stamps of what was sampled before. */
const EPOCH_NS = 3_600e9;

assert(!isMainThread && parentPort !== null, "a Worker entry runs in a Worker");
const port = parentPort;
const { robot, task, policy: name, promiseNs, word } = workerData as MarkedPlan;
const layout = layoutOf({ robot, task });
const clock = new SystemClock(sessionOrigin(), duration(0), { stopped: false });
const pictures = new HostPictures();
const context = policyContext(robot, task, layout, pictures);
const digest = policyDigest(name); // before it is loaded: what changes meanwhile is another one
const policy = await (isOnnxPath(name) ? openOnnx : loadPolicy)(name, context);
const acts = new HostedActs(policy);
const state = new StateView(new Float64Array(layout.slotCount), layout);
// What ships looks at no picture, so none can harm it.
const acceptsJpeg = policy.acceptsJpeg === true || policyKind(name) === "shipped";
const decode = (jpeg: Uint8Array): Promise<Uint8Array> =>
  decodeJpeg(jpeg, OBS_SIDE_PX, OBS_SIDE_PX);
let tick = 0;
let resetCount = 0;
/** Pictures are read one observation after the other, or answers would overtake each other. */
let reading: Promise<unknown> = Promise.resolve();

const tell = (message: FromHostPolicy): void => {
  port.postMessage({ word, message } satisfies MarkedMessage);
};

function factsOf(): PolicyFacts {
  const { schema, plan = robot.policy } = policy;
  return create(PolicyFactsSchema, {
    name: policy.name,
    actionSchema: {
      space: schema.space,
      representation: schema.representation,
      translationUnit: schema.translationUnit ?? "",
      rotationUnit: schema.rotationUnit ?? "",
      frame: schema.frame,
      columns: [...schema.columns],
    },
    actionSchemaFingerprint: BigInt(schemaFingerprint(schema)),
    horizon: plan.horizon,
    dtNs: BigInt(plan.dtNs),
    requiredFields: fieldsOf(layout, "rgb8").filter(({ name }) => task.requires.includes(name)),
    obsTransformVersion: OBS_TRANSFORM_VERSION,
    obsTransformSha256: Buffer.from(OBS_TRANSFORM_SHA256, "hex"),
    acceptsJpeg,
    manifestSha256: digest,
    latencyNsP99: BigInt(promiseNs),
  });
}

async function decide(observation: Observation): Promise<Decision | null> {
  const startedNs = clock.nowNs();
  const resetCountBefore = resetCount;
  const read = () => readPictures(observation, acceptsJpeg ? decode : undefined);
  const shown = reading.then(read, read);
  reading = shown;
  pictures.shown = await shown;
  if (resetCount !== resetCountBefore) return null; // what it has forgotten it is not shown
  // The run's own time: in lockstep the wall clock means nothing.
  const nowNs = instant(EPOCH_NS + Number(observation.sinceResetNs));
  tick += 1;
  const wrong = writeState(state, observation, tick, nowNs);
  if (wrong !== undefined) throw new Error(`an observation of another robot: ${wrong}`);
  const chunk = await acts.act(state, nowNs);
  if (chunk === null) return null;
  const { horizon, width, dtNs, validFromNs, values } = chunk;
  return {
    horizon,
    dtNs,
    startOffsetNs:
      validFromNs === ANCHOR_BY_PROFILE ? undefined : Math.round(validFromNs - state.stampNs),
    rows: [...values.subarray(0, horizon * width)],
    inferenceNs: clock.nowNs() - startedNs,
  };
}

/**
 * One decision that nobody gets, so that the first that counts is no slower than the rest: on
 * everything that the robot can send, all of it zero but the joints.
 */
async function warmUp(): Promise<void> {
  const home = robot.joints.map((joint) => joint.homeRad);
  acts.reset(WARM_UP_EPOCH);
  const facts = { positionRad: home, commandRad: home, taskText: task.instruction };
  try {
    await decide(create(ObservationSchema, { ...facts, ...zerosOf(layout) }));
  } catch (error) {
    tell({ kind: "threw", text: `warm-up (fields and pictures are zero): ${errorWords(error)}` });
  }
}

async function answer(observation: Observation): Promise<void> {
  let decision: Decision | null = null;
  let trouble = "";
  try {
    decision = await decide(observation);
  } catch (error) {
    trouble = errorWords(error);
  }
  tell({ kind: "decided", decision, trouble });
}

port.on("message", (message: ToHostPolicy) => {
  if (message.kind === "act") {
    void answer(message.observation);
    return;
  }
  resetCount += 1;
  acts.reset(message.epoch);
});
tell({ kind: "made", facts: factsOf() });
await warmUp();
tell({ kind: "ready" });
