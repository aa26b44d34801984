// What an edge says: its hello, and a state as an observation. Numbers cross as float32; a policy
// needs no more, and what it answers is judged by the gate as it arrives.

import { create } from "@bufbuild/protobuf";
import {
  OBS_SIDE_PX,
  OBS_TRANSFORM_SHA256,
  OBS_TRANSFORM_VERSION,
} from "../contracts/obs-transform.ts";
import type { PictureReader } from "../contracts/policy.ts";
import type { PictureEncoding, RobotProfile, TaskProfile } from "../contracts/profile.ts";
import { StateSlot } from "../contracts/state.ts";
import type { StateLayout, StateView } from "../contracts/state.ts";
import type { Duration, Instant } from "../contracts/units.ts";
import {
  FieldSchema,
  FieldValueSchema,
  HelloSchema,
  Image_Encoding,
  ImageSchema,
  ObservationSchema,
} from "./generated/policy_pb.js";
import type { Field, Hello, Image, Observation } from "./generated/policy_pb.js";
import { PROTOCOL_VERSION } from "./limits.ts";

export type EdgeFacts = {
  readonly robot: RobotProfile;
  readonly task: TaskProfile;
  readonly layout: StateLayout;
  /** SHA-256 of the policy that the deployment names; empty for any. */
  readonly manifestSha256: Uint8Array;
  readonly runtimeVersions: Readonly<Record<string, string>>;
};

/** The fields of a layout as both sides speak of them: numbers cross as float32. */
export function fieldsOf(layout: StateLayout, pictureEncoding: PictureEncoding): Field[] {
  return layout.fields.map(({ name, dtype, shape, unit, frame }) => {
    const isImage = dtype === "uint8";
    return create(FieldSchema, {
      name,
      dtype: isImage ? pictureEncoding : "float32",
      shape: isImage ? [OBS_SIDE_PX, OBS_SIDE_PX, 3] : [...shape],
      unit: isImage ? "" : unit,
      frame,
    });
  });
}

export function helloOf(facts: EdgeFacts, linkSession: bigint): Hello {
  const { robot, task, layout } = facts;
  return create(HelloSchema, {
    protocolVersion: PROTOCOL_VERSION,
    linkSession,
    robot: robot.name,
    jointNames: [...layout.jointNames],
    fields: fieldsOf(layout, robot.policy.pictureEncoding ?? "rgb8"),
    obsTransformVersion: OBS_TRANSFORM_VERSION,
    obsTransformSha256: Buffer.from(OBS_TRANSFORM_SHA256, "hex"),
    manifestSha256: facts.manifestSha256,
    controlPeriodNs: BigInt(robot.periodNs),
    decisionPeriodNs: BigInt(Math.floor(1e9 / robot.policy.hz)),
    taskName: task.name,
    runtimeVersions: { ...facts.runtimeVersions },
  });
}

/**
 * A state as it is sent at `nowNs`, its pictures as pixels. Null when one that it names is gone.
 */
export function observationOf(
  state: StateView,
  epoch: number,
  nowNs: Instant,
  pictures: PictureReader | undefined,
): Observation | null {
  const { record } = state;
  const images: Image[] = [];
  for (const field of state.fields) {
    if (field.spec.dtype !== "uint8" || !field.present) continue;
    const pixels = pictures?.transformed(field) ?? null;
    if (pixels === null) return null;
    images.push(
      create(ImageSchema, {
        name: field.spec.name,
        widthPx: OBS_SIDE_PX,
        heightPx: OBS_SIDE_PX,
        encoding: Image_Encoding.RGB8,
        pixels: pixels.slice(),
        ageNs: age(field.stampNs, nowNs),
      }),
    );
  }
  return create(ObservationSchema, {
    epoch: BigInt(epoch),
    positionRad: [...state.positionRad],
    velocityRadPerS: record[StateSlot.hasVelocity] === 1 ? [...state.velocityRadPerS] : [],
    effortNm: record[StateSlot.hasEffort] === 1 ? [...state.effortNm] : [],
    commandRad: [...state.command],
    fields: state.fields
      .filter((field) => field.present && field.spec.dtype !== "uint8")
      .map((field) =>
        create(FieldValueSchema, {
          name: field.spec.name,
          values: [...field.values],
          ageNs: age(field.stampNs, nowNs),
        }),
      ),
    images,
    taskText: state.task,
    ageNs: age(state.stampNs, nowNs),
  });
}

/** Makes it one that is sent so much later, with these bytes for its pictures. */
export function turnToJpeg(
  observation: Observation,
  jpegs: readonly Uint8Array[],
  laterNs: Duration,
): void {
  const later = BigInt(Math.round(laterNs));
  observation.ageNs += later;
  for (const field of observation.fields) field.ageNs += later;
  for (const [index, image] of observation.images.entries()) {
    image.encoding = Image_Encoding.JPEG;
    image.pixels = jpegs[index]!;
    image.ageNs += later;
  }
}

const age = (stampNs: Instant, nowNs: Instant): bigint =>
  BigInt(Math.max(0, Math.round(nowNs - stampNs)));
