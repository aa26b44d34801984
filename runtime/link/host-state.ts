// An observation as a state, on the host: what a policy reads there is what it would read on the
// robot, on the host's own clock. Fields that the host's layout does not know are left out; pixels
// are read through `HostPictures`, which has decoded what came as JPEG before anybody acts.

import { create } from "@bufbuild/protobuf";
import { OBS_SIDE_PX, OBS_SIZE_BYTES } from "../contracts/obs-transform.ts";
import type { PictureReader } from "../contracts/policy.ts";
import { StateSlot } from "../contracts/state.ts";
import type { FieldSpec, FieldView, StateLayout, StateView } from "../contracts/state.ts";
import { duration, instant } from "../contracts/units.ts";
import type { Instant } from "../contracts/units.ts";
import { FieldValueSchema, Image_Encoding, ImageSchema } from "./generated/policy_pb.js";
import type { Image, Observation } from "./generated/policy_pb.js";
import { JPEG_COUNT_MAX } from "./limits.ts";

/** On the host age counts nothing twice: the edge judged it, and judges again what comes back. */
const VALIDITY_NS = duration(10e9);

/** Why an observation cannot be read as a state; undefined when it was written. */
export function writeState(
  out: StateView,
  observation: Observation,
  tick: number,
  nowNs: Instant,
): string | undefined {
  const { record, layout } = out;
  const n = layout.jointCount;
  const { positionRad, velocityRadPerS, effortNm, commandRad } = observation;
  if (positionRad.length !== n || commandRad.length !== n) return `not ${n} joints`;
  for (const optional of [velocityRadPerS, effortNm]) {
    if (optional.length !== 0 && optional.length !== n) return `not ${n} joints`;
  }
  for (const values of [positionRad, commandRad, velocityRadPerS, effortNm]) {
    if (!values.every(Number.isFinite)) return "a joint's value is no number";
  }
  out.positionRad.set(positionRad);
  out.command.set(commandRad);
  out.velocityRadPerS.fill(0);
  out.velocityRadPerS.set(velocityRadPerS);
  out.effortNm.fill(0);
  out.effortNm.set(effortNm);
  record[StateSlot.hasVelocity] = velocityRadPerS.length === n ? 1 : 0;
  record[StateSlot.hasEffort] = effortNm.length === n ? 1 : 0;
  record[StateSlot.stampNs] = nowNs - Number(observation.ageNs);
  record[StateSlot.validityNs] = VALIDITY_NS;
  record[StateSlot.epoch] = Number(observation.epoch);
  record[StateSlot.tick] = tick;
  for (const slot of [StateSlot.qualityProprioRatio, StateSlot.qualityVisionRatio])
    record[slot] = 1;
  for (const slot of [StateSlot.qualityLocalizationRatio, StateSlot.qualityTemporalRatio]) {
    record[slot] = 1;
  }
  for (const field of out.fields) writeField(field, observation, nowNs);
  return undefined;
}

function writeField(field: FieldView, observation: Observation, nowNs: Instant): void {
  const { name, valueCount, dtype } = field.spec;
  field.clear();
  if (dtype === "uint8") {
    const image = observation.images.find((candidate) => candidate.name === name);
    if (image === undefined) return;
    field.set(instant(nowNs - Number(image.ageNs)), VALIDITY_NS, 1, 0);
    return;
  }
  const told = observation.fields.find((candidate) => candidate.name === name);
  if (told === undefined || told.values.length !== valueCount) return;
  if (!told.values.every(Number.isFinite)) return; // a sensor's fault is an absent sensor
  field.set(instant(nowNs - Number(told.ageNs)), VALIDITY_NS, 1, 0);
  field.values.set(told.values);
}

/** The fields and pictures of an observation that nobody made: all that a robot can send, zero. */
export function zerosOf({ fields }: StateLayout): Pick<Observation, "fields" | "images"> {
  const isPicture = ({ dtype }: FieldSpec): boolean => dtype === "uint8";
  return {
    fields: fields
      .filter((spec) => !isPicture(spec))
      .map(({ name, valueCount }) => {
        const values = Array.from({ length: valueCount }, () => 0);
        return create(FieldValueSchema, { name, values });
      }),
    images: fields.filter(isPicture).map(({ name }) =>
      create(ImageSchema, {
        name,
        widthPx: OBS_SIDE_PX,
        heightPx: OBS_SIDE_PX,
        encoding: Image_Encoding.RGB8,
        pixels: new Uint8Array(OBS_SIZE_BYTES),
      }),
    ),
  };
}

/** Pixels of a JPEG that came from elsewhere: of this square, or it rejects and says why not. */
export type DecodePicture = (jpeg: Uint8Array) => Promise<Uint8Array>;

/** The pixels of an observation's pictures, by name. */
type Pixels = ReadonlyMap<string, Uint8Array>;

/** The pictures of the observation that is being decided on. */
export class HostPictures implements PictureReader {
  shown: Pixels = new Map();

  transformed(field: FieldView): Uint8Array | null {
    return this.shown.get(field.spec.name) ?? null;
  }
}

/**
 * Without `decode`, for a policy that does not accept JPEG, what comes so is no picture. Rejects
 * with PictureError.
 */
export async function readPictures(
  { images }: Observation,
  decode: DecodePicture | undefined,
): Promise<Pixels> {
  const shown = new Map<string, Uint8Array>();
  const jpegCount = images.filter(({ encoding }) => encoding === Image_Encoding.JPEG).length;
  if (jpegCount > JPEG_COUNT_MAX) {
    throw new PictureError(
      `the pictures: expected at most ${JPEG_COUNT_MAX} as JPEG, found ${jpegCount}`,
    );
  }
  for (const image of images) {
    const pixels = await pixelsOf(image, decode);
    if (pixels?.length === OBS_SIZE_BYTES) shown.set(image.name, pixels);
  }
  return shown;
}

async function pixelsOf(
  { name, encoding, pixels, widthPx, heightPx }: Image,
  decode: DecodePicture | undefined,
): Promise<Uint8Array | undefined> {
  if (encoding === Image_Encoding.RGB8) return pixels;
  if (encoding !== Image_Encoding.JPEG || decode === undefined) return undefined;
  if (widthPx !== OBS_SIDE_PX || heightPx !== OBS_SIDE_PX) {
    const found = `${widthPx} x ${heightPx}`;
    const expected = `${OBS_SIDE_PX} x ${OBS_SIDE_PX}`;
    throw new PictureError(`the picture ${name}: expected ${expected}, found ${found}`);
  }
  try {
    return await decode(pixels);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new PictureError(`the picture ${name}: ${why}`, { cause });
  }
}

/** A picture that a robot should not have sent. */
export class PictureError extends Error {
  override readonly name = "PictureError";
}
