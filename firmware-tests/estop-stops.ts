// Button, stop request and SS1-t, which nothing cancels.
// Part of the list in estop-behaviour.ts.

import { expect } from "bun:test";
import { EstopFlag, EstopInput, EstopOutput } from "../runtime/contracts/estop-codes.ts";
import { SWITCHES_AT_REST } from "./estop-bench.ts";
import { BehaviourList, FILTER_MS, MS, msUntilOpen } from "./estop-rig.ts";
import { told } from "./estop-rig.ts";

const { ButtonAClosed, ButtonBClosed } = EstopInput;
const list = new BehaviourList();
export const stopsBehaviour = list.cases;

list.armed(
  "the button starts SS1-t: outputs stay closed for it, then open, and nothing cancels it",
  (rig) => {
    const { bench, host } = rig;
    const fromUs = bench.nowUs;
    bench.switchBits &= ~(ButtonAClosed | ButtonBClosed);
    host.beats(10);
    expect([told(host), bench.outputBits]).toEqual(["STOPPING button", EstopOutput.Both]);
    bench.switchBits = SWITCHES_AT_REST;
    host.flags = EstopFlag.Proof;
    host.beats(10);
    host.flags = EstopFlag.Stop;
    host.beats(4);
    host.flags = 0;
    host.pressReset();
    expect([told(host), bench.outputBits]).toEqual(["STOPPING button", EstopOutput.Both]);
    host.beats(60);
    expect([told(host), bench.outputBits]).toEqual(["TRIPPED button", 0]);
    const lastedMs = msUntilOpen(rig, fromUs) - host.status.stopMs;
    expect([lastedMs >= FILTER_MS, lastedMs <= FILTER_MS + 1]).toEqual([true, true]);
  },
);

list.armed("a stop request starts SS1-t even in a frame whose answer is wrong", (rig) => {
  const { bench, host } = rig;
  host.beats(4);
  host.flags = EstopFlag.Stop;
  const fromUs = bench.nowUs;
  host.beat("wrong");
  host.flags = 0;
  host.beats(10);
  expect([told(host), bench.outputBits]).toEqual(["STOPPING stop_request", EstopOutput.Both]);
  host.beats(60);
  expect([told(host), bench.outputBits]).toEqual(["TRIPPED stop_request", 0]);
  const lastedMs = msUntilOpen(rig, fromUs) - host.status.stopMs;
  expect([lastedMs >= 0.6, lastedMs <= 2]).toEqual([true, true]);
});

list.armed("silence during SS1-t cuts at once", (rig) => {
  const { bench, host } = rig;
  bench.switchBits &= ~(ButtonAClosed | ButtonBClosed);
  host.beats(4);
  const fromUs = host.lastBeatUs;
  host.pause((host.status.silenceMs + 5) * MS);
  expect(told(host)).toBe("TRIPPED silence");
  expect(msUntilOpen(rig, fromUs)).toBeLessThanOrEqual(host.status.silenceMs + 1);
});

for (const [name, channel] of [
  ["A", ButtonAClosed],
  ["B", ButtonBClosed],
] as const) {
  list.armed(
    `channel ${name} alone starts SS1-t, is a discrepancy, and asks for both to open`,
    (rig) => {
      const { bench, host } = rig;
      const fromUs = bench.nowUs;
      bench.switchBits &= ~channel;
      host.beats(10);
      expect([told(host), bench.outputBits]).toEqual(["STOPPING button", EstopOutput.Both]);
      host.beats(20);
      expect([told(host), bench.outputBits]).toEqual(["TRIPPED discrepancy", 0]);
      const lateMs = msUntilOpen(rig, fromUs) - host.status.discrepancyMs;
      expect([lateMs >= FILTER_MS, lateMs <= FILTER_MS + 1]).toEqual([true, true]);
      bench.switchBits = SWITCHES_AT_REST;
      host.flags = EstopFlag.Proof;
      host.beats(20);
      expect(told(host)).toBe("TRIPPED discrepancy");
      expect(host.status.outputs).toBe(EstopOutput.BothOpenDue);
      bench.switchBits &= ~(ButtonAClosed | ButtonBClosed);
      host.beats(4);
      bench.switchBits = SWITCHES_AT_REST;
      host.flags = 0;
      host.arm();
      expect(bench.outputBits).toBe(EstopOutput.Both);
    },
  );
}

list.armed(
  "pulses on the button that are shorter than the filter do nothing",
  ({ bench, host }) => {
    for (let index = 0; index < 10; index += 1) {
      bench.switchBits &= ~(ButtonAClosed | ButtonBClosed);
      bench.runUntil(bench.nowUs + 2 * MS);
      bench.switchBits = SWITCHES_AT_REST;
      host.beat();
    }
    expect([told(host), bench.outputBits]).toEqual(["ARMED none", EstopOutput.Both]);
  },
);

list.armed(
  "nothing that asks for a proof test ends SS1-t, or a run that is armed",
  ({ bench, host }) => {
    // Contacts that read open for less than the settling time look as before a proof test.
    const askWithContactsOpen = () => {
      bench.relays.stuckOpen = EstopOutput.Both;
      host.flags = EstopFlag.Proof;
      host.beats(8);
      bench.relays.stuckOpen = 0;
      host.flags = 0;
      host.beats(2);
      return [told(host), bench.outputBits];
    };
    expect(askWithContactsOpen()).toEqual(["ARMED none", EstopOutput.Both]);
    bench.switchBits &= ~(ButtonAClosed | ButtonBClosed);
    host.beats(4);
    bench.switchBits = SWITCHES_AT_REST;
    host.beats(4);
    expect(askWithContactsOpen()).toEqual(["STOPPING button", EstopOutput.Both]);
  },
);
