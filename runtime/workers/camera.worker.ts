// The camera's driver thread: draws what the scene looks like, while somebody asks for pictures and
// not otherwise. Normal priority; nothing in the control path waits for it.

import { CameraRenderer } from "../../hal/mujoco/camera.ts";
import { frameSlotCount } from "../../hal/mujoco/scene.ts";
import { assert } from "../contracts/assert.ts";
import { ClockDomain, ImagePayload, SampleSlot } from "../contracts/sample.ts";
import { AskWord } from "../shm/ask-word.ts";
import { ThreadSlot } from "../shm/control-words.ts";
import { ImageWriter } from "../shm/image-slots.ts";
import { LatestReader, LatestWriter } from "../shm/latest-cell.ts";
import { PictureSlot, sampleCell, sourcesOf, WorldSlot } from "./plan.ts";
import { WordStop } from "./ports.ts";
import { SystemClock } from "./system-clock.ts";
import { attach, runWhenTold } from "./thread.ts";

/**
 * How long the thread sleeps between looks at the world. A picture is of a moment up to a period,
 * this and a drawing ago (50, 5 and about 10 ms), and a policy may use it for 120 ms: half a period
 * here left too little where a model has the other core.
 */
const POLL_MS = 5;

const thread = attach();
const { plan, arena, words } = thread;
const { scene } = plan;
const camera = plan.run.robot.sim?.camera;
assert(scene !== undefined && camera !== undefined, "a camera thread has a scene and a camera");
const { widthPx, heightPx } = camera;
const stop = new WordStop(words);
const clock = new SystemClock(plan.origin, plan.run.spinTailNs, stop);
const renderer = new CameraRenderer(scene, { widthPx, heightPx, raysPerPixelSide: 1 });
const worlds = new LatestReader(arena.cell("world"));
const pictures = new ImageWriter(arena.images("pictures"));
const newest = new LatestWriter(arena.cell("picture"));
const ask = new AskWord(arena.words("camera-ask"));
const frame = new Float64Array(frameSlotCount(scene));
const sourceIndex = sourcesOf(plan.run).findIndex((source) => source.id === camera.id);
const sample =
  sourceIndex < 0 ? undefined : new LatestWriter(arena.cell(sampleCell({ id: camera.id })));
let seq = 0;

function draw(): void {
  const { record } = worlds;
  const stampNs = record[WorldSlot.stampNs]!;
  for (let slot = 0; slot < frame.length; slot += 1) frame[slot] = record[WorldSlot.frame + slot]!;
  renderer.renderInto(pictures.begin(), frame);
  pictures.publish();
  newest.record[PictureSlot.slot] = pictures.slot;
  newest.record[PictureSlot.arenaSeq] = pictures.sequence;
  newest.record[PictureSlot.stampNs] = stampNs;
  newest.record[PictureSlot.widthPx] = widthPx;
  newest.record[PictureSlot.heightPx] = heightPx;
  newest.publish();
  if (sample !== undefined) publishSample(sample, stampNs);
}

function publishSample(writer: LatestWriter, stampNs: number): void {
  const { record } = writer;
  seq += 1;
  record[SampleSlot.sourceIndex] = sourceIndex;
  record[SampleSlot.sensorStampNs] = stampNs;
  record[SampleSlot.clockDomain] = ClockDomain.Monotonic;
  record[SampleSlot.receiveNs] = clock.nowNs();
  record[SampleSlot.seq] = seq;
  record[SampleSlot.calibrationVersion] = 0;
  record[SampleSlot.validMask] = 1;
  record[SampleSlot.payload + ImagePayload.slot] = pictures.slot;
  record[SampleSlot.payload + ImagePayload.arenaSeq] = pictures.sequence;
  record[SampleSlot.payload + ImagePayload.widthPx] = widthPx;
  record[SampleSlot.payload + ImagePayload.heightPx] = heightPx;
  writer.publish();
}

runWhenTold(thread, ThreadSlot.camera, "hf-camera", 0, async () => {
  while (!stop.stopped) {
    if (sample !== undefined) ask.ask(); // a policy needs every picture
    if (worlds.take()) {
      draw();
      ask.decay();
    }
    words.beat(ThreadSlot.camera);
    await Bun.sleep(POLL_MS);
  }
});
