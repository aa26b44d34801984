// What a policy on a host reads of an observation: values and ages in the host's time, fields that
// its layout knows, and pictures of exactly the size that it was trained on.

import { expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { testJoint, testProfile } from "../../safety/fixture.ts";
import { OBS_SIDE_PX, OBS_SIZE_BYTES } from "../contracts/obs-transform.ts";
import type { SourceProfile } from "../contracts/profile.ts";
import { Reason } from "../contracts/reason.ts";
import { StateLayout, StateSlot, StateView } from "../contracts/state.ts";
import { instant, milliseconds } from "../contracts/units.ts";
import { Image_Encoding, ObservationSchema } from "./generated/policy_pb.js";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { HostPictures, readPictures, writeState } from "./host-state.ts";

const cube: SourceProfile = {
  id: "cube",
  kind: "localization",
  periodNs: milliseconds(5),
  validityNs: milliseconds(15),
  joints: ["a", "b"],
  measuresVelocity: false,
  measuresEffort: false,
  frame: "base",
};
const front: SourceProfile = { ...cube, id: "front", kind: "image", frame: "front" };
const robot = testProfile([testJoint({ name: "a" }), testJoint({ name: "b" })]);
const layout = new StateLayout(robot, [cube, front], "pick it up");
const nowNs = instant(5e9);
const pose = [1, 2, 3, 0, 0, 0, 1];

const observe = (told: MessageInitShape<typeof ObservationSchema>) =>
  create(ObservationSchema, { positionRad: [0.1, 0.2], commandRad: [0.3, 0.4], ...told });
const measures = ({ record }: StateView) => [
  record[StateSlot.hasVelocity],
  record[StateSlot.hasEffort],
];
const newState = () => new StateView(new Float64Array(layout.slotCount), layout);

test("joints, epoch and age arrive; what was not measured is not there", () => {
  const state = newState();
  expect(writeState(state, observe({ epoch: 7n, ageNs: 2_000_000n }), 42, nowNs)).toBeUndefined();
  expect([...state.positionRad, ...state.command]).toEqual([0.1, 0.2, 0.3, 0.4]);
  expect([state.epoch, state.tick, state.stampNs]).toEqual([7, 42, instant(4.998e9)]);
  expect(measures(state)).toEqual([0, 0]);

  const measured = observe({ velocityRadPerS: [1, 2], effortNm: [3, 4] });
  expect(writeState(state, measured, 43, nowNs)).toBeUndefined();
  expect([...state.velocityRadPerS, ...state.effortNm]).toEqual([1, 2, 3, 4]);
  expect(measures(state)).toEqual([1, 1]);

  writeState(state, observe({}), 44, nowNs);
  expect([...state.velocityRadPerS, ...state.effortNm]).toEqual([0, 0, 0, 0]);
});

for (const name of ["positionRad", "commandRad", "velocityRadPerS", "effortNm"]) {
  test(`${name} of another number of joints is refused, and nothing is written`, () => {
    const state = newState();
    expect(writeState(state, observe({ [name]: [9, 9, 9] }), 1, nowNs)).toBe("not 2 joints");
    expect([...state.positionRad]).toEqual([0, 0]);
  });

  test.each([NaN, Infinity, -Infinity])(`${name} of %p is refused as well`, (value) => {
    const state = newState();
    const wrong = writeState(state, observe({ [name]: [9, value] }), 1, nowNs);
    expect([wrong, ...state.positionRad]).toEqual(["a joint's value is no number", 0, 0]);
  });
}

test("a field is there with its age, and gone when the next observation lacks it", () => {
  const state = newState();
  const [field] = state.fields;
  const fields = [
    { name: "unknown", values: [8] },
    { name: "cube", values: pose, ageNs: 1_000_000n },
  ];
  writeState(state, observe({ fields }), 1, nowNs);
  expect([...field!.values]).toEqual(pose);
  expect(field!.stampNs).toBe(instant(4.999e9));
  expect(field!.freshness(nowNs)).toBe(Reason.Ok);

  for (const values of [[1, 2], pose.with(6, NaN)]) {
    writeState(state, observe({ fields }), 2, nowNs);
    expect(field!.freshness(nowNs)).toBe(Reason.Ok);
    writeState(state, observe({ fields: [{ name: "cube", values }] }), 2, nowNs);
    expect(field!.freshness(nowNs)).toBe(Reason.SourceMissing);
  }
});

test("a picture is what the observation under decision holds, in the trained size", async () => {
  const state = newState();
  const field = state.fields[1]!;
  const pictures = new HostPictures();
  const image = (byteCount: number, encoding = Image_Encoding.RGB8) => ({
    name: "front",
    widthPx: OBS_SIDE_PX,
    heightPx: OBS_SIDE_PX,
    encoding,
    pixels: new Uint8Array(byteCount).fill(9),
    ageNs: 3_000_000n,
  });
  const look = async (told: MessageInitShape<typeof ObservationSchema>) => {
    pictures.shown = await readPictures(observe(told), undefined);
    writeState(state, observe(told), 1, nowNs);
    return pictures.transformed(field);
  };
  expect(pictures.transformed(field)).toBeNull();
  expect(await look({})).toBeNull();
  expect(field.present).toBe(false);
  expect((await look({ images: [image(OBS_SIZE_BYTES)] }))?.[OBS_SIZE_BYTES - 1]).toBe(9);
  expect(field.stampNs).toBe(instant(4.997e9));
  expect(await look({ images: [image(OBS_SIZE_BYTES - 1)] })).toBeNull();
  for (const encoding of [Image_Encoding.UNSPECIFIED, Image_Encoding.JPEG]) {
    expect(await look({ images: [image(OBS_SIZE_BYTES, encoding)] })).toBeNull();
  }
});

test("a picture that comes as JPEG is decoded before an act, or refused by name", async () => {
  const decoded = new Uint8Array(OBS_SIZE_BYTES).fill(5);
  const decode = async (bytes: Uint8Array) => {
    if (bytes.length === 0) throw new Error("expected a JPEG, found no bytes");
    return decoded;
  };
  const jpeg = (name: string, sizeBytes: number, widthPx = OBS_SIDE_PX) => {
    const encoding = Image_Encoding.JPEG;
    return { name, widthPx, heightPx: OBS_SIDE_PX, encoding, pixels: new Uint8Array(sizeBytes) };
  };
  const read = async (...images: ReturnType<typeof jpeg>[]) => {
    try {
      return [...(await readPictures(observe({ images }), decode))];
    } catch (error) {
      return String(error);
    }
  };
  expect(await read(jpeg("front", 9))).toEqual([["front", decoded]]);
  expect(await read(jpeg("left", 9), jpeg("right", 0))).toBe(
    "PictureError: the picture right: expected a JPEG, found no bytes",
  );
  expect(await read(jpeg("front", 9, 225))).toBe(
    "PictureError: the picture front: expected 224 x 224, found 225 x 224",
  );
  const unknown = { ...jpeg("front", 9), encoding: Image_Encoding.UNSPECIFIED as never };
  expect(await read(unknown)).toEqual([]);
  const many = Array.from({ length: 17 }, (_, index) => jpeg(String(index), 9));
  expect(await read(...many.slice(1))).toHaveLength(16);
  expect(await read(...many)).toBe(
    "PictureError: the pictures: expected at most 16 as JPEG, found 17",
  );
});
