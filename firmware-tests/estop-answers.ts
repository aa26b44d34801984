// What each kind of answer counts, when too many bad ones open the outputs, and silence.
// Part of the list in estop-behaviour.ts.

import { expect } from "bun:test";
import { EstopMode, EstopOutput, EstopVerdict } from "../runtime/contracts/estop-codes.ts";
import type { Beat } from "./estop-host.ts";
import { BehaviourList, MS, msUntilOpen, told } from "./estop-rig.ts";

const list = new BehaviourList();
export const answersBehaviour = list.cases;

const bad: [Beat, EstopVerdict][] = [
  ["wrong", EstopVerdict.Wrong],
  ["corrupt", EstopVerdict.Corrupt],
  ["foreign", EstopVerdict.Foreign],
  ["malformed", EstopVerdict.Malformed],
  ["unknown_flag", EstopVerdict.Malformed],
  ["other_boot", EstopVerdict.OtherBoot],
  ["repeated", EstopVerdict.Repeated],
  ["late", EstopVerdict.Late],
  ["same_tick", EstopVerdict.SameTick],
  ["burst", EstopVerdict.Early],
];
for (const [kind, verdict] of bad) {
  list.armed(`one ${kind} answer counts once, and a good one takes it back`, ({ bench, host }) => {
    host.beats(8);
    const before = host.status.badCount;
    host.beat(kind);
    host.beat("none");
    const { badCount, failCount, lastBad } = host.status;
    expect([badCount - before, failCount, lastBad]).toEqual([1, 1, verdict]);
    host.beats(8);
    expect([host.status.failCount, bench.outputBits]).toEqual([0, EstopOutput.Both]);
  });
}

list.armed("frames of zeros count neither way", ({ host }) => {
  const before = host.status.badCount;
  for (let index = 0; index < 20; index += 1) host.beat(index % 2 === 0 ? "zeros" : "good");
  expect([host.status.badCount, host.status.failCount]).toEqual([before, 0]);
  expect(told(host)).toBe("ARMED none");
});

list.armed(
  "bad answers that good ones interrupt open the outputs at five and latch at eight",
  ({ bench, host }) => {
    // Never so many bad ones in a row that it is silence as well.
    const expectCount = (failCount: number, outputs: number) => {
      host.beat("none");
      const told = [host.status.mode, host.status.failCount, bench.outputBits];
      expect(told).toEqual([EstopMode.Armed, failCount, outputs]);
      host.beat();
    };
    host.beats(3, "wrong");
    host.beat();
    host.beats(3, "wrong");
    host.beat();
    expectCount(4, EstopOutput.Both);
    host.beats(2, "wrong");
    expectCount(5, 0);
    expectCount(4, EstopOutput.Both);
    host.beats(3, "wrong");
    host.beat();
    host.beats(3, "wrong");
    host.beat("none");
    expect([told(host), bench.outputBits]).toEqual(["TRIPPED bad_answers", 0]);
    host.beats(20);
    host.pressReset();
    expect([told(host), bench.outputBits]).toEqual(["TRIPPED bad_answers", 0]);
  },
);

list.armed(
  "silence opens both outputs within T_wd + 1 ms of the last good beat, 20 times, and latches",
  (rig) => {
    const { bench, host } = rig;
    const twdMs = host.status.silenceMs;
    const seenMs: number[] = [];
    for (let trial = 0; trial < 20; trial += 1) {
      host.beats(8);
      host.pause(37 * trial);
      host.beat();
      host.pause((twdMs + 5) * MS);
      seenMs.push(msUntilOpen(rig, host.lastBeatUs));
      host.beats(10);
      host.pressReset();
      expect([told(host), bench.outputBits]).toEqual(["TRIPPED silence", 0]);
      host.arm();
    }
    const [min, max] = [Math.min(...seenMs), Math.max(...seenMs)];
    console.log(`${bench.name}: silence to open ${min.toFixed(2)} to ${max.toFixed(2)} ms`);
    expect(min).toBeGreaterThanOrEqual(twdMs - 0.3);
    expect(max).toBeLessThanOrEqual(twdMs + 1);
  },
);

list.armed("answers that are all wrong are silence as well", (rig) => {
  const { host } = rig;
  const fromUs = host.lastBeatUs;
  host.beats(4, "corrupt");
  host.pause((host.status.silenceMs + 5) * MS);
  expect(told(host)).toBe("TRIPPED silence");
  expect(msUntilOpen(rig, fromUs)).toBeLessThanOrEqual(host.status.silenceMs + 1);
});

list.armed("a host that beats too fast is off at once and latched", ({ bench, host }) => {
  host.beats(8, "burst");
  host.beat("none");
  expect([told(host), bench.outputBits]).toEqual(["TRIPPED bad_answers", 0]);
});

list.armed("one frame in twenty lost never trips", ({ bench, host }) => {
  const edges = bench.edges.length;
  for (let index = 0; index < 200; index += 1) host.beat(index % 20 === 19 ? "none" : "good");
  expect([told(host), host.status.failCount, bench.edges.length]).toEqual(["ARMED none", 0, edges]);
});

list.armed("the status tells tick index and mode of the last good answer", ({ host }) => {
  host.hostMode = 5;
  host.beat();
  host.hostMode = 3;
  host.beat("wrong");
  host.beat("none");
  expect([host.status.hostMode, host.status.tickIndex]).toEqual([5, host.goodTick]);
});
