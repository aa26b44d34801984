// OpenpiObservation: a state as the observation that an openpi server is asked with, by a
// deployment's mapping. Values go to float32 in the server's own units, pictures as ObsTransform
// makes them, the task's text as the prompt.

import { OBS_SIDE_PX, OBS_SIZE_BYTES } from "../contracts/obs-transform.ts";
import { openpiToolParts } from "../contracts/openpi.ts";
import type {
  OpenpiMapping,
  OpenpiPicture,
  OpenpiPlace,
  OpenpiValue,
} from "../contracts/openpi.ts";
import type { PictureReader } from "../contracts/policy.ts";
import type { RobotProfile } from "../contracts/profile.ts";
import type { StateLayout, StateView } from "../contracts/state.ts";
import { Chain } from "../kinematics/chain.ts";
import { POSE_SLOTS, poseErrorInto } from "../kinematics/pose.ts";
import { PolicyError } from "../policy/policy-error.ts";
import { encodeMessage, float32Array } from "./openpi-codec.ts";
import type { NdArray, OpenpiMessage } from "./openpi-codec.ts";

const COLOUR_COUNT = 3;
const PIXEL_COUNT = OBS_SIDE_PX * OBS_SIDE_PX;
const NO_POSE = Float64Array.of(0, 0, 0, 0, 0, 0, 1);

/** Why there is no observation of a state. */
export type MissingPart = { readonly missing: string };

export class OpenpiObservation {
  readonly #mapping: OpenpiMapping;
  readonly #pictures: PictureReader | undefined;
  readonly #chain: Chain;
  readonly #usesTool: boolean;
  readonly #pose = new Float64Array(POSE_SLOTS);
  /** Of the state at hand: x y z and the rotation vector. */
  readonly #tool = new Float64Array(openpiToolParts.length);

  /** Throws PolicyError when the state has not what the mapping names. */
  constructor(
    mapping: OpenpiMapping,
    robot: RobotProfile,
    layout: StateLayout,
    pictures: PictureReader | undefined,
  ) {
    this.#mapping = mapping;
    this.#pictures = pictures;
    this.#chain = new Chain(robot);
    const values = mapping.vectors.flatMap((vector) => vector.values);
    this.#usesTool = values.some(({ kind }) => kind === "tool");
    for (const value of values) checkField(value, layout);
    for (const { source } of mapping.pictures) {
      const isThere = layout.fields.some(({ name, dtype }) => name === source && dtype === "uint8");
      if (isThere && pictures !== undefined) continue;
      throw unfit(source, "pictures, which a run in streaming has", "a state without them");
    }
  }

  /** The bytes to ask with; the pictures' are copied. */
  encode(state: StateView): Uint8Array | MissingPart {
    if (this.#usesTool) this.#lookAtTool(state);
    const { vectors, pictures, promptKey } = this.#mapping;
    const message: Record<string, OpenpiMessage[string]> = {};
    for (const vector of vectors) {
      const values: number[] = [];
      for (const value of vector.values) {
        const ours = this.#read(value, state);
        if (ours === undefined) return { missing: "a field that the mapping names is absent" };
        values.push(ours);
      }
      put(message, vector, float32Array(values));
    }
    for (const picture of pictures) {
      const field = state.field(picture.source);
      const pixels = field === undefined ? null : this.#pictures?.transformed(field);
      if (pixels === null || pixels === undefined) {
        return { missing: "a picture was overwritten before it was sent" };
      }
      put(message, picture, pictureArray(picture, pixels));
    }
    if (promptKey !== undefined) message[promptKey] = state.task;
    return encodeMessage(message);
  }

  #lookAtTool(state: StateView): void {
    this.#chain.forwardInto(this.#pose, state.positionRad);
    poseErrorInto(this.#tool, NO_POSE, this.#pose);
  }

  #read(value: OpenpiValue, state: StateView): number | undefined {
    if (value.kind === "constant") return value.offset;
    const ours = this.#ours(value, state);
    return ours === undefined ? undefined : (ours - value.offset) / value.scaleFactor;
  }

  #ours(value: Exclude<OpenpiValue, { kind: "constant" }>, state: StateView): number | undefined {
    if (value.kind === "joint") return state.positionRad[state.jointIndex(value.joint)];
    if (value.kind === "tool") return this.#tool[openpiToolParts.indexOf(value.part)];
    const field = state.field(value.field);
    return field?.present === true ? field.values[value.index] : undefined;
  }
}

function put(message: Record<string, OpenpiMessage[string]>, place: OpenpiPlace, array: NdArray) {
  const { inside, key } = place;
  if (inside === undefined) {
    message[key] = array;
    return;
  }
  message[inside] = { ...(message[inside] as OpenpiMessage | undefined), [key]: array };
}

function pictureArray({ order }: OpenpiPicture, pixels: Uint8Array): NdArray {
  if (order === "hwc") {
    return {
      dtype: "|u1",
      shape: [OBS_SIDE_PX, OBS_SIDE_PX, COLOUR_COUNT],
      bytes: pixels.slice(),
    };
  }
  const bytes = new Uint8Array(OBS_SIZE_BYTES);
  for (let pixel = 0; pixel < PIXEL_COUNT; pixel += 1) {
    for (let colour = 0; colour < COLOUR_COUNT; colour += 1) {
      bytes[colour * PIXEL_COUNT + pixel] = pixels[pixel * COLOUR_COUNT + colour]!;
    }
  }
  return { dtype: "|u1", shape: [COLOUR_COUNT, OBS_SIDE_PX, OBS_SIDE_PX], bytes };
}

function checkField(value: OpenpiValue, layout: StateLayout): void {
  if (value.kind !== "field") return;
  const field = layout.fields.find(({ name, dtype }) => name === value.field && dtype !== "uint8");
  if (field === undefined) {
    const names = layout.fields.map(({ name }) => name).join(", ");
    throw unfit(value.field, `the field "${value.field}"`, names === "" ? "no fields" : names);
  }
  if (value.index < field.valueCount) return;
  const expected = `an index below ${field.valueCount} of "${value.field}"`;
  throw unfit(value.field, expected, `${value.index}`);
}

function unfit(place: string, expected: string, found: string): PolicyError {
  const action = "Cannot ask an openpi server with this robot, task and time model";
  return new PolicyError("unfit_task", action, { place, expected, found });
}
