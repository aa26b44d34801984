// Tests of FaultySensor over a sensor whose samples are known: each fault's effect on value, stamp,
// sequence id and arrival, its window, its rate, its determinism, and that it leaves others alone.

import { expect, test } from "bun:test";
import type { SourceProfile } from "../runtime/contracts/profile.ts";
import { SensorSnapshot } from "../runtime/contracts/sample.ts";
import { duration, instant } from "../runtime/contracts/units.ts";
import type { Instant } from "../runtime/contracts/units.ts";
import { FaultySensor } from "./fault-injector.ts";
import { parseFaultSpec } from "./fault-spec.ts";
import { writeHeader } from "./proprio-writer.ts";
import type { RobotSensor } from "./robot.ts";

const PERIOD_MS = 5;

function source(id: string, kind: SourceProfile["kind"], joints: readonly string[]): SourceProfile {
  const periodNs = duration(PERIOD_MS * 1e6);
  const measures = { measuresVelocity: true, measuresEffort: true };
  return { id, kind, periodNs, validityNs: periodNs, joints, ...measures, frame: "base" };
}

const sources = [source("arm", "proprio", ["a", "b"]), source("cube_pose", "localization", [])];

/** Every observation brings sample k of each source, taken 1 ms before: every value is k. */
class CountingSensor implements RobotSensor {
  #seq = 0;

  observeInto(snapshot: SensorSnapshot, nowNs: Instant): void {
    snapshot.clear();
    this.#seq += 1;
    for (const [index, sample] of snapshot.samples.entries()) {
      writeHeader(sample, index, instant(nowNs - 1e6), nowNs, this.#seq, 1);
      sample.payload.fill(this.#seq);
      snapshot.arrived[index] = 1;
    }
  }
}

type Seen = { readonly tick: number; readonly arrived: boolean } & Record<string, unknown>;

/** What a reader sees of one source, tick by tick; tick k is at k periods. */
function watch(texts: readonly string[], ticks: number, seed = 1, sourceIndex = 0): Seen[] {
  const specs = texts.flatMap((text) => parseFaultSpec(text, sources));
  const sensor = new FaultySensor(new CountingSensor(), sources, specs, seed);
  const snapshot = new SensorSnapshot(sources);
  return Array.from({ length: ticks }, (_, index) => {
    const tick = index + 1;
    sensor.observeInto(snapshot, instant(tick * PERIOD_MS * 1e6));
    const { seq, sensorStampNs, receiveNs, payload } = snapshot.samples[sourceIndex]!;
    return {
      tick,
      arrived: snapshot.arrived[sourceIndex] === 1,
      seq,
      stampMs: sensorStampNs / 1e6,
      receiveMs: receiveNs / 1e6,
      values: [...payload],
    };
  });
}

const seqs = (seen: readonly Seen[]): unknown[] =>
  seen.map((one) => (one.arrived ? one["seq"] : "-"));
const clean = (ticks: number): Seen[] => watch([], ticks);

test("without faults everything passes unchanged", () => {
  expect(watch([], 3)).toEqual(
    [1, 2, 3].map((k) => ({
      tick: k,
      arrived: true,
      seq: k,
      stampMs: 5 * k - 1,
      receiveMs: 5 * k,
      values: Array(6).fill(k),
    })),
  );
});

test("freeze repeats the last good sample with its stamp, in its window only", () => {
  // The window opens 10 ms after the first observation: ticks 3, 4 and 5.
  const seen = watch(["freeze:arm@10ms+15ms"], 7);
  expect(seqs(seen)).toEqual([1, 2, 2, 2, 2, 6, 7]);
  expect(seen[3]).toEqual({ ...clean(2)[1]!, tick: 4, receiveMs: 20 });
  expect(seen[5]).toEqual(clean(6)[5]!);
});

test("freeze from the start holds the very first sample", () => {
  expect(seqs(watch(["freeze:arm"], 4))).toEqual([1, 1, 1, 1]);
});

test("drop withholds samples and leaves the record as it was", () => {
  const seen = watch(["drop:arm@10ms+10ms"], 5);
  expect(seqs(seen)).toEqual([1, 2, "-", "-", 5]);
  expect({ ...seen[3], tick: 2, arrived: true }).toEqual(clean(2)[1]!);
});

test("delay brings every sample later, with its true stamp and a new time of receipt", () => {
  const seen = watch(["delay:arm=12ms"], 7);
  expect(seqs(seen)).toEqual(["-", "-", "-", 1, 2, 3, 4]); // 12 ms are three ticks of 5
  expect(seen[6]).toEqual({ ...clean(4)[3]!, tick: 7, receiveMs: 35 });
});

test("after a delay ends nothing old comes behind something newer", () => {
  expect(seqs(watch(["delay:arm=12ms@0s+15ms"], 7))).toEqual(["-", "-", "-", 4, 5, 6, 7]);
});

test("a queue of delayed samples never grows beyond its room", () => {
  // Tens of seconds of samples are pushed; a tenth of a second of them may be on its way.
  const seen = watch(["delay:arm=100ms"], 5_000);
  expect(seqs(seen).slice(-3)).toEqual([4_978, 4_979, 4_980]);
});

test("future stamps a sample ahead of now and leaves its time of receipt", () => {
  const seen = watch(["future:arm=50ms@5ms+5ms"], 3);
  expect(seen[1]).toEqual({ ...clean(2)[1]!, stampMs: 60 });
  expect([seen[0], seen[2]]).toEqual([clean(3)[0], clean(3)[2]]);
});

test("noise has the deviation asked for, and touches neither stamps nor the rest of a pose", () => {
  const seen = watch(["noise:arm=0.01"], 2_000);
  const errors = seen.flatMap((one) => (one["values"] as number[]).map((v) => v - one.tick));
  const variance = errors.reduce((sum, error) => sum + error * error, 0) / errors.length;
  expect(Math.abs(Math.sqrt(variance) - 0.01)).toBeLessThan(0.0005);
  expect(seen.map((one) => one["stampMs"])).toEqual(clean(2_000).map((one) => one["stampMs"]));
  const pose = watch(["noise:cube_pose=0.01"], 1, 1, 1)[0]!["values"] as number[];
  expect(pose.map((value) => value === 1)).toEqual([false, false, false, true, true, true, true]);
});

test("corrupt breaks exactly one value of each sample, in every way it can", () => {
  const seen = watch(["corrupt:arm"], 3_000);
  const ways = new Set<string>();
  const places = new Set<number>();
  const exponents = new Set<number>();
  for (const { tick, values } of seen) {
    const wrong = (values as number[]).flatMap((value, index) => (value === tick ? [] : [index]));
    expect(wrong).toHaveLength(1);
    places.add(wrong[0]!);
    const value = (values as number[])[wrong[0]!]!;
    ways.add(
      Number.isNaN(value) ? "NaN" : value === 1e30 ? "huge" : value === -1e30 ? "-huge" : "flipped",
    );
    if (Math.abs(value) !== 1e30) exponents.add(Math.round(Math.log2(Math.abs(value) / tick)));
  }
  expect([...ways].sort()).toEqual(["-huge", "NaN", "flipped", "huge"]);
  expect(exponents.size).toBeGreaterThan(8); // the flipped bits lie all over the upper half
  expect(places.size).toBe(6);
});

test("a probability strikes that share of the samples", () => {
  const seen = watch(["drop:arm%5"], 20_000);
  const dropped = seen.filter((one) => !one.arrived).length;
  expect(Math.abs(dropped / 20_000 - 0.05)).toBeLessThan(0.005);
});

test("equal seeds strike alike, other seeds differently", () => {
  const texts = ["drop:arm%10", "noise:arm=0.1%50", "corrupt:arm%10"];
  expect(watch(texts, 300, 7)).toEqual(watch(texts, 300, 7));
  expect(watch(texts, 300, 7)).not.toEqual(watch(texts, 300, 8));
});

test("a further fault never changes what the others strike", () => {
  const alone = seqs(watch(["drop:arm%10"], 500));
  expect(seqs(watch(["drop:arm%10", "noise:arm=0.1", "corrupt:cube_pose%50"], 500))).toEqual(alone);
});

test("the other sources stay untouched", () => {
  expect(watch(["freeze:arm", "drop:arm%50"], 50, 1, 1)).toEqual(watch([], 50, 1, 1));
});

test("what did not arrive is not struck, and keeps no other fault from striking", () => {
  const texts = ["drop:arm@5ms+5ms", "freeze:arm", "noise:arm=1", "corrupt:arm", "future:arm=5ms"];
  const specs = texts.flatMap((text) => parseFaultSpec(text, sources));
  const sensor = new FaultySensor(new CountingSensor(), sources, specs, 1);
  const snapshot = new SensorSnapshot(sources);
  const arrivals = [1, 2, 3].map((tick) => {
    sensor.observeInto(snapshot, instant(tick * 5e6));
    return snapshot.arrived[0];
  });
  expect(arrivals).toEqual([1, 0, 1]);
  expect(sensor.faults.map((fault) => fault.hitCount)).toEqual([1, 2, 2, 2, 2]);
});

test("faults act in the order given and count what they struck", () => {
  const specs = ["freeze:arm@5ms", "future:arm=50ms"].flatMap((text) =>
    parseFaultSpec(text, sources),
  );
  const sensor = new FaultySensor(new CountingSensor(), sources, specs, 1);
  const snapshot = new SensorSnapshot(sources);
  for (const tick of [1, 2, 3]) sensor.observeInto(snapshot, instant(tick * 5e6));
  const { seq, sensorStampNs } = snapshot.samples[0]!;
  expect({ seq, sensorStampNs: Number(sensorStampNs) }).toEqual({ seq: 1, sensorStampNs: 65e6 });
  expect(sensor.faults.map((fault) => fault.hitCount)).toEqual([2, 3]);
});
