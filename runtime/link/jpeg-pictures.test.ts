// Pictures that go as JPEG, in virtual time: the real RemotePolicy, link and host session, with an
// encoder that is done when the test says so. What ends while a picture is encoded (the epoch, the
// session, the run, the time for an answer) is followed by no picture of before.

import { expect, test } from "bun:test";
import { decodeJpeg, encodeJpeg } from "../../hal/jpeg.ts";
import type { ChunkView } from "../contracts/action.ts";
import { OBS_SIDE_PX, OBS_SIZE_BYTES } from "../contracts/obs-transform.ts";
import { Evidence } from "../contracts/evidence.ts";
import { SequenceAllocator } from "../contracts/policy.ts";
import type { PictureEncoding, SourceProfile } from "../contracts/profile.ts";
import { StateLayout, StateSlot, StateView } from "../contracts/state.ts";
import { duration, instant } from "../contracts/units.ts";
import { loadRobot, loadTask } from "../profile/load.ts";
import { helloOf } from "./edge-messages.ts";
import { facts, JOINTS, VirtualLink } from "./fixture.ts";
import { Image_Encoding } from "./generated/policy_pb.js";
import { JPEG_QUALITY_PERCENT } from "./limits.ts";
import { RemotePolicy } from "./remote-policy.ts";
import type { EncodePicture } from "./remote-policy.ts";

const robot = loadRobot("document-one");
const joints = JOINTS.map((name) => ({ ...robot.joints[0]!, name }));
const source = (id: string, kind: SourceProfile["kind"]): SourceProfile => ({
  id,
  kind,
  periodNs: duration(50e6),
  validityNs: duration(120e6),
  joints: [],
  measuresVelocity: false,
  measuresEffort: false,
  frame: id,
});
const sources = [...robot.sources, source("scene", "image"), source("cube_pose", "localization")];
const layout = new StateLayout({ ...robot, joints }, sources, "");

/** An encoder whose pictures are done when it is told so. */
class SlowEncoder {
  readonly #open: { readonly pixels: Uint8Array; readonly settle: (jpeg: Uint8Array) => void }[] =
    [];

  encode: EncodePicture = (pixels) =>
    new Promise((settle) => {
      this.#open.push({ pixels, settle });
    });

  /** Three bytes that tell of the pixels as they are now: this is no JPEG, and none is decoded. */
  async finish(): Promise<void> {
    const { pixels, settle } = this.#open.shift()!;
    settle(pixels.slice(0, 3));
    for (let turn = 0; turn < 4; turn += 1) await Promise.resolve();
  }
}

class World {
  readonly link = new VirtualLink(1);
  readonly encoder = new SlowEncoder();
  readonly policy: RemotePolicy;
  readonly state = new StateView(new Float64Array(layout.slotCount), layout);
  /** The reader's own memory, which its next picture takes. */
  readonly pixels = new Uint8Array(OBS_SIZE_BYTES).fill(7);
  #read = 0;

  constructor(options: { waitsForEver?: boolean; encodePicture?: EncodePicture } = {}) {
    const told = facts({ acceptsJpeg: true });
    this.link.facts = told;
    this.policy = new RemotePolicy(told, {
      link: this.link.link,
      pump: () => undefined, // the virtual link serves every millisecond
      hangUp: () => this.link.link.close(),
      nowNs: () => this.link.nowNs,
      pictures: { transformed: () => this.pixels },
      anchoring: "observation",
      encodePicture: options.encodePicture ?? this.encoder.encode,
      waitsForEver: options.waitsForEver ?? false,
    });
    this.policy.reset(1, new SequenceAllocator(1));
    this.run(100);
  }

  run(ms: number): void {
    this.link.run(this.link.nowNs + ms * 1e6, () => this.#deliver());
    this.#deliver();
  }

  #deliver(): void {
    const { answers } = this.link;
    for (; this.#read < answers.length; this.#read += 1) this.policy.answered(answers[this.#read]!);
  }

  /** Acts on a state that is 5 ms old, with a picture of 30 ms and a pose of 10 ms. */
  act(): Promise<ChunkView | null> {
    const { nowNs } = this.link;
    this.state.record[StateSlot.stampNs] = nowNs - 5e6;
    for (const [index, ageNs] of [30e6, 10e6].entries()) {
      this.state.fields[index]!.set(instant(nowNs - ageNs), duration(120e6), 1, 0);
    }
    return Promise.resolve(this.policy.act(this.state, instant(nowNs)));
  }

  /** What the host got: ages in ms and the pixels' first bytes. */
  get got() {
    return this.link.observations.map(({ epoch, images, ageNs, fields }) => {
      const [image] = images;
      const ages = [ageNs, image?.ageNs, fields[0]?.ageNs].map((each) => Number(each) / 1e6);
      return [Number(epoch), image?.encoding, ages, [...(image?.pixels ?? [])]];
    });
  }
}

test("a picture is sent encoded, and everything is as much older as that took", async () => {
  const world = new World();
  const answer = world.act();
  world.pixels.fill(99); // the next picture takes the reader's memory
  world.run(7);
  expect(world.got).toEqual([]);
  await world.encoder.finish();
  world.run(60);
  expect(((await answer) as ChunkView).seq).toBe(1);
  expect(world.got).toEqual([[1, Image_Encoding.JPEG, [12, 37, 17], [7, 7, 7]]]);
});

test("the rows still to come are those of the moment that it is sent", async () => {
  const world = new World();
  const first = world.act();
  await world.encoder.finish();
  world.run(40);
  expect(await first).not.toBeNull();
  world.policy.receipt(Evidence.Accepted, 1, 1, world.link.nowNs);
  void world.act(); // 45 ms after the first's stamp: rows of 20 ms from there
  world.run(18);
  await world.encoder.finish();
  world.run(5);
  expect(world.link.observations.map((each) => each.bufferedRowCount)).toEqual([0, 1]);
});

test("the hello says how the robot's pictures come", () => {
  const dtypes = (pictureEncoding: PictureEncoding | undefined) => {
    const policy = { ...robot.policy, ...(pictureEncoding && { pictureEncoding }) };
    const own = { ...robot, policy };
    const task = loadTask("none");
    const manifestSha256 = new Uint8Array(0);
    const parts = { robot: own, task, layout, manifestSha256, runtimeVersions: {} };
    return helloOf(parts, 1n).fields.map(({ name, dtype }) => `${name} ${dtype}`);
  };
  expect(dtypes(undefined)).toEqual(["scene rgb8", "cube_pose float32"]);
  expect(dtypes("rgb8")).toEqual(["scene rgb8", "cube_pose float32"]);
  expect(dtypes("jpeg")).toEqual(["scene jpeg", "cube_pose float32"]);
});

test("in lockstep no time passes as a picture is encoded", async () => {
  const world = new World({ waitsForEver: true });
  const answer = world.act();
  world.run(7);
  await world.encoder.finish();
  world.run(60);
  expect(await answer).not.toBeNull();
  expect(world.got).toEqual([[1, Image_Encoding.JPEG, [5, 30, 10], [7, 7, 7]]]);
});

test("a new epoch that begins meanwhile is asked with its own picture alone", async () => {
  const world = new World();
  const old = world.act();
  world.policy.reset(2, new SequenceAllocator(2));
  world.pixels.fill(8);
  const fresh = world.act();
  await world.encoder.finish();
  world.run(20);
  expect(world.got).toEqual([]);
  await world.encoder.finish();
  world.run(60);
  const chunk = (await fresh) as ChunkView;
  expect([await old, chunk.epoch, chunk.seq]).toEqual([null, 2, 1]);
  expect(world.got.map(([epoch, , , pixels]) => [epoch, pixels])).toEqual([[2, [8, 8, 8]]]);
});

test("neither a session that ended meanwhile nor the one after it gets a picture", async () => {
  const world = new World();
  const across = world.act();
  world.link.cut("UNAVAILABLE");
  world.run(70); // less than an answer may take, and enough to be connected again
  expect(world.policy.phase).toBe("ready");
  await world.encoder.finish();
  expect(await across).toBeNull();
  expect(world.policy.statusText).toContain("the connection was lost as a picture was encoded");
  const before = world.act();
  world.link.cut("UNAVAILABLE");
  world.run(30);
  await world.encoder.finish();
  expect(await before).toBeNull();
  world.run(500);
  expect(world.policy.phase).toBe("ready");
  expect(world.got).toEqual([]);
});

test("an encoder that takes the answer's whole time has taken the decision", async () => {
  const world = new World();
  const answer = world.act();
  world.run(75); // of 80 ms, of which 5 were over
  await world.encoder.finish();
  expect(await answer).toBeNull();
  expect(world.policy.statusText).toBe("no decision: encoding a picture took too long");
  world.run(60);
  expect(world.got).toEqual([]);
});

test("the run may end meanwhile", async () => {
  const world = new World();
  const answer = world.act();
  world.policy.close();
  await world.encoder.finish();
  expect(await answer).toBeNull();
  world.run(60);
  expect(world.got).toEqual([]);
});

test("an encoder that fails fails the act, and the next one may be better", async () => {
  let isBroken = true;
  const encodePicture: EncodePicture = async (rgb) => {
    if (isBroken) throw new Error("no codec");
    return rgb.slice(0, 3);
  };
  const world = new World({ encodePicture });
  expect(await world.act().catch((error: unknown) => String(error))).toBe("Error: no codec");
  isBroken = false;
  const answer = world.act();
  for (let turn = 0; turn < 4; turn += 1) await Promise.resolve();
  world.run(60);
  expect(((await answer) as ChunkView).seq).toBe(1);
});

test("a state without its picture is asked about at once", () => {
  const world = new World();
  world.state.record[StateSlot.stampNs] = world.link.nowNs - 5e6;
  void world.policy.act(world.state, world.link.nowNs);
  world.run(2);
  expect(world.got).toHaveLength(1);
});

test("the real encoder: equal pictures are equal bytes, a tenth of the pixels", async () => {
  let encoded: Promise<Uint8Array> | undefined;
  const encodePicture: EncodePicture = (rgb) => {
    encoded = encodeJpeg(rgb, OBS_SIDE_PX, OBS_SIDE_PX, JPEG_QUALITY_PERCENT);
    return encoded;
  };
  const run = async (): Promise<Uint8Array> => {
    const world = new World({ encodePicture, waitsForEver: true });
    for (let at = 0; at < OBS_SIZE_BYTES; at += 1) world.pixels[at] = (at >> 9) & 255;
    const answer = world.act();
    await encoded;
    for (let turn = 0; turn < 4; turn += 1) await Promise.resolve();
    world.run(60);
    expect(await answer).not.toBeNull();
    return world.link.observations[0]!.images[0]!.pixels;
  };
  const first = await run();
  expect(await run()).toEqual(first);
  expect(first.length).toBeLessThan(OBS_SIZE_BYTES / 10);
  const back = await decodeJpeg(first, OBS_SIDE_PX, OBS_SIDE_PX);
  const mean = (rgb: Uint8Array): number => rgb.reduce((sum, byte) => sum + byte, 0) / rgb.length;
  const pixels = Uint8Array.from({ length: OBS_SIZE_BYTES }, (_, at) => (at >> 9) & 255);
  expect(Math.abs(mean(back) - mean(pixels))).toBeLessThan(1);
});
