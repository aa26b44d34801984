// Tests of the clock conversion against devices simulated here: a known offset, a known drift and
// seeded transport delays. The truth is the moment of sampling, which the converter never sees.

import { expect, test } from "bun:test";
import { SeededRandom } from "../contracts/seeded-random.ts";
import { instant } from "../contracts/units.ts";
import { ClockDomainConverter } from "./clock-domain.ts";

const MS = 1e6;
const S = 1e9;

type Device = {
  /** Session time when the device's clock shows zero. */
  readonly offsetNs: number;
  /** How much faster the session clock runs. */
  readonly drift: number;
  readonly periodNs: number;
  /** Transport takes this long, and an exponential share more. */
  readonly delayNs: number;
  readonly jitterNs: number;
};

const usb: Device = {
  offsetNs: 5_000 * S,
  drift: 0,
  periodNs: 5 * MS,
  delayNs: 0.2 * MS,
  jitterNs: 1 * MS,
};

/** Errors of the converted stamps against the truth, in the order of the samples, ns. */
function errorsOf(device: Device, seconds: number, seed: number): number[] {
  const random = new SeededRandom(seed);
  const converter = new ClockDomainConverter();
  const errors: number[] = [];
  for (let trueNs = 0; trueNs < seconds * S; trueNs += device.periodNs) {
    const deviceNs = Math.round(trueNs / (1 + device.drift));
    const sampledNs = device.offsetNs + trueNs;
    const delayNs = device.delayNs + device.jitterNs * random.exponential();
    const receiveNs = instant(Math.round(sampledNs + delayNs));
    const stampNs = converter.convert(deviceNs, receiveNs);
    expect(stampNs).toBeLessThanOrEqual(receiveNs);
    expect(Number.isSafeInteger(stampNs)).toBe(true);
    errors.push(stampNs - sampledNs);
  }
  return errors;
}

test("the lower envelope finds the offset: the least delay plus 0.1 ms, after a second", () => {
  for (const seed of [1, 2, 3]) {
    const errors = errorsOf(usb, 20, seed).slice(200);
    for (const errorNs of errors) {
      expect(errorNs).toBeGreaterThanOrEqual(-1);
      expect(errorNs).toBeLessThan(usb.delayNs + 0.1 * MS);
    }
  }
});

test.each([200e-6, 90e-6, -90e-6, -200e-6])("a drift of %d is followed for minutes", (drift) => {
  const errors = errorsOf({ ...usb, drift }, 180, 7);
  // Untracked, ten seconds of envelope would be 2 ms wrong at 200 ppm.
  for (const errorNs of errors.slice(12 * 200)) {
    expect(Math.abs(errorNs - usb.delayNs)).toBeLessThan(0.25 * MS);
  }
});

test("without jitter a known drift leaves an error of rounding alone", () => {
  for (const drift of [200e-6, -200e-6]) {
    const errors = errorsOf({ ...usb, drift, jitterNs: 0 }, 40, 1);
    for (const errorNs of errors.slice(12 * 200)) {
      expect(Math.abs(errorNs - usb.delayNs)).toBeLessThan(20);
    }
  }
});

test("the drift is the least-squares slope of the minima of the closed seconds", () => {
  const random = new SeededRandom(11);
  const converter = new ClockDomainConverter();
  const minima = new Map<number, readonly [number, number]>();
  for (let ms = 0; ms < 25_000; ms += 10) {
    const delayNs = Math.round(50_000 * random.exponential());
    converter.convert(ms * MS, instant(ms * MS + delayNs));
    const second = Math.floor(ms / 1_000);
    if (delayNs < (minima.get(second)?.[1] ?? Infinity)) minima.set(second, [ms * MS, delayNs]);
    const closed = Array.from(minima.values()).slice(0, -1).slice(-9);
    if (ms % 1_000 !== 0 || closed.length < 3) continue;
    const meanT = closed.reduce((sum, [t]) => sum + t, 0) / closed.length;
    const meanD = closed.reduce((sum, [, d]) => sum + d, 0) / closed.length;
    const top = closed.reduce((sum, [t, d]) => sum + (t - meanT) * (d - meanD), 0);
    const slope = top / closed.reduce((sum, [t]) => sum + (t - meanT) ** 2, 0);
    expect(converter.driftRatio).toBeCloseTo(slope, 12);
  }
});

test("of equally short delays in a second the first is its minimum", () => {
  const converter = new ClockDomainConverter();
  // Tenths of a second, and of a millisecond: the minima are at 0, 1 and 2 s, one more each.
  for (const [tenths, tenthsMs] of [
    [0, 0],
    [5, 0],
    [10, 1],
    [17, 1],
    [20, 2],
    [29, 2],
    [30, 9],
  ] as const) {
    const deviceNs = tenths * 100 * MS;
    converter.convert(deviceNs, instant(deviceNs + tenthsMs * 0.1 * MS));
  }
  expect(converter.driftRatio).toBeCloseTo(100e-6, 12);
});

test("fewer than three closed seconds tell no drift", () => {
  const converter = new ClockDomainConverter();
  const drifts: number[] = [];
  for (let deviceNs = 0; deviceNs <= 3 * S; deviceNs += 0.5 * S) {
    converter.convert(deviceNs, instant(Math.round(deviceNs * (1 + 100e-6))));
    drifts.push(converter.driftRatio);
  }
  expect(drifts.slice(0, 6)).toEqual([0, 0, 0, 0, 0, 0]);
  expect(drifts[6]).toBeCloseTo(100e-6, 9);
});

test("before the drift is known a stamp errs to the old side, and only by the drift", () => {
  const errors = errorsOf({ ...usb, drift: 200e-6, jitterNs: 0 }, 12, 1);
  for (const errorNs of errors) {
    expect(errorNs).toBeLessThanOrEqual(usb.delayNs + 1);
    expect(errorNs).toBeGreaterThan(usb.delayNs - 5 * S * 200e-6);
  }
});

test("the estimated drift is the true one, and never beyond what crystals do", () => {
  const drifts = [200e-6, -50e-6, 1e-3, -1e-3].map((drift) => {
    const converter = new ClockDomainConverter();
    for (let trueNs = 0; trueNs < 30 * S; trueNs += 5 * MS) {
      converter.convert(Math.round(trueNs / (1 + drift)), instant(trueNs));
    }
    return converter.driftRatio;
  });
  expect(drifts[0]).toBeCloseTo(200e-6, 6);
  expect(drifts[1]).toBeCloseTo(-50e-6, 6);
  expect(drifts.slice(2)).toEqual([200e-6, -200e-6]);
});

test("a delay that comes and stays is believed within ten seconds, no sooner", () => {
  const converter = new ClockDomainConverter();
  const errors: number[] = [];
  for (let trueNs = 0; trueNs < 40 * S; trueNs += 5 * MS) {
    const delayNs = trueNs < 20 * S ? 1 * MS : 9 * MS;
    errors.push(converter.convert(trueNs, instant(trueNs + delayNs)) - trueNs);
  }
  expect(errors[22 * 200]!).toBeLessThan(2.5 * MS);
  expect(errors[39 * 200]!).toBeCloseTo(9 * MS, -5);
});

test("a version names each new estimate: one a second, and one for a restart", () => {
  const converter = new ClockDomainConverter();
  expect(converter.version).toBe(0);
  const versions: number[] = [];
  for (let trueNs = 0; trueNs <= 3 * S; trueNs += 0.25 * S) {
    converter.convert(trueNs, instant(trueNs));
    versions.push(converter.version);
  }
  expect(versions).toEqual([1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4]);
  converter.convert(0, instant(4 * S));
  expect(converter.version).toBe(5);
});

test("a device that restarts gets a new offset at once", () => {
  const converter = new ClockDomainConverter();
  for (let deviceNs = 0; deviceNs < 20 * S; deviceNs += 5 * MS) {
    converter.convert(deviceNs, instant(Math.round(1.0001 * deviceNs) + 1 * MS));
  }
  expect(converter.driftRatio).toBeCloseTo(100e-6, 9);
  // It counts from zero again at session time 25 s.
  const stamps = [0, 5 * MS, 10 * MS].map((deviceNs) => {
    const receiveNs = instant(25 * S + deviceNs + 1 * MS);
    return converter.convert(deviceNs, receiveNs) - 25 * S - deviceNs;
  });
  expect(stamps).toEqual([1 * MS, 1 * MS, 1 * MS]);
  expect(converter.driftRatio).toBe(0);
});

test("a sample that transport has shuffled keeps its place in time and restarts nothing", () => {
  const converter = new ClockDomainConverter();
  for (let trueNs = 0; trueNs < 2 * S; trueNs += 5 * MS) {
    converter.convert(trueNs, instant(trueNs + 1 * MS));
  }
  const { version } = converter;
  const stampNs = converter.convert(2 * S - 50 * MS, instant(2 * S + 3 * MS));
  expect(stampNs as number).toBe(2 * S - 49 * MS);
  // As far back as transport shuffles, and not one nanosecond further.
  const edgeNs = 2 * S - 5 * MS - 100 * MS;
  expect(converter.convert(edgeNs, instant(2 * S + 3 * MS)) as number).toBe(edgeNs + 1 * MS);
  expect(converter.version).toBe(version);
  const restartNs = instant(2 * S + 4 * MS);
  expect(converter.convert(edgeNs - 1, restartNs) as number).toBe(restartNs);
  expect(converter.version).toBe(version + 1);
});

test("a device clock that jumps ahead is believed at once: only a delay makes a pair late", () => {
  const converter = new ClockDomainConverter();
  for (let trueNs = 0; trueNs < 2 * S; trueNs += 5 * MS) {
    converter.convert(trueNs, instant(trueNs + 1 * MS));
  }
  const stampNs = converter.convert(3_602 * S, instant(2 * S + 6 * MS));
  expect(stampNs as number).toBe(2 * S + 6 * MS);
});

test("a stamp that is no number stays none and spoils nothing", () => {
  const converter = new ClockDomainConverter();
  expect(converter.convert(Number.NaN, instant(0))).toBeNaN();
  expect(converter.convert(Infinity, instant(0))).toBeNaN();
  expect(converter.convert(0, instant(Infinity))).toBeNaN();
  expect(converter.version).toBe(0);
  expect(converter.convert(7, instant(3 * MS)) as number).toBe(3 * MS);
  expect(converter.convert(Number.NaN, instant(4 * MS))).toBeNaN();
  expect(converter.convert(5 * MS + 7, instant(9 * MS)) as number).toBe(8 * MS);
});
