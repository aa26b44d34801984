// A policy's look at the arena's pictures: the bytes of the slot that the record names, and none
// when the camera has taken the slot meanwhile.

import { expect, test } from "bun:test";
import { testJoint, testProfile } from "../../safety/fixture.ts";
import { OBS_SIZE_BYTES } from "../contracts/obs-transform.ts";
import { ImagePayload } from "../contracts/sample.ts";
import { StateLayout, StateView } from "../contracts/state.ts";
import { instant, milliseconds } from "../contracts/units.ts";
import { ImageReader, ImageWriter } from "../shm/image-slots.ts";
import { SlotPictures } from "./slot-pictures.ts";

const size = { widthPx: 4, heightPx: 2 };

function setUp() {
  const memory = {
    sequences: new Int32Array(2),
    pixels: [0, 1].map(() => new Uint8Array(size.widthPx * size.heightPx * 3)),
  };
  const layout = new StateLayout(
    testProfile([testJoint({ name: "a" })]),
    [
      {
        id: "front",
        kind: "image",
        periodNs: milliseconds(50),
        validityNs: milliseconds(150),
        joints: [],
        measuresVelocity: false,
        measuresEffort: false,
        frame: "front",
      },
    ],
    "look",
  );
  const field = new StateView(new Float64Array(layout.slotCount), layout).fields[0]!;
  const writer = new ImageWriter(memory);
  return {
    field,
    writer,
    pictures: new SlotPictures(new ImageReader(memory), size),
    shoot: (brightness: number) => {
      writer.begin().fill(brightness);
      writer.publish();
    },
    record: () => {
      field.set(instant(1), milliseconds(150), 1, 1);
      field.values[ImagePayload.slot] = writer.slot;
      field.values[ImagePayload.arenaSeq] = writer.sequence;
    },
  };
}

test("the record's picture comes in the trained size, also while the next is taken", () => {
  const { field, writer, pictures, shoot, record } = setUp();
  shoot(40);
  record();
  writer.begin().fill(200);
  const seen = pictures.transformed(field)!;
  expect(seen.length).toBe(OBS_SIZE_BYTES);
  expect([seen[0], seen[OBS_SIZE_BYTES - 1]]).toEqual([40, 40]);
});

test("no picture while the source is missing, and none once its slot is taken", () => {
  const { field, writer, pictures, shoot, record } = setUp();
  shoot(40);
  expect(pictures.transformed(field)).toBeNull();
  record();
  shoot(41);
  writer.begin(); // the record's own slot
  expect(pictures.transformed(field)).toBeNull();
  writer.publish();
  expect(pictures.transformed(field)).toBeNull();
});
