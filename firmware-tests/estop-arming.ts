// How the chip gets armed, and all the ways in which it must not: boot, proof test, reset edge.
// Part of the list in estop-behaviour.ts.

import { expect } from "bun:test";
import { EstopFlag, EstopInput, EstopMode, EstopOutput } from "../runtime/contracts/estop-codes.ts";
import { EstopProof, EstopVerdict } from "../runtime/contracts/estop-codes.ts";
import { RELAY_US, SWITCHES_AT_REST } from "./estop-bench.ts";
import type { Beat } from "./estop-host.ts";
import { BOOT_MS, BehaviourList, FILTER_MS, MS, msUntilOpen } from "./estop-rig.ts";
import type { Rig } from "./estop-rig.ts";
import { told } from "./estop-rig.ts";

const { ButtonAClosed, ButtonBClosed, ChainClosed, ResetPressed } = EstopInput;
const list = new BehaviourList();
export const armingBehaviour = list.cases;

list.fresh(
  "boots tripped, and neither answers nor the reset alone close anything",
  ({ bench, host }) => {
    host.pause(BOOT_MS * MS);
    expect([told(host), bench.outputBits, bench.edges]).toEqual(["TRIPPED power_on", 0, []]);
    host.beats(20);
    host.pressReset();
    expect([told(host), bench.edges]).toEqual(["TRIPPED power_on", []]);
  },
);

list.fresh(
  "the proof test echoes each bad answer with its code and one count more",
  ({ bench, host }) => {
    host.beatUntil(({ failCount }) => failCount === 0);
    host.flags = EstopFlag.Proof;
    host.beatUntil(({ mode }) => mode === EstopMode.Proof);
    const steps: [EstopProof, Beat, EstopVerdict][] = [
      [EstopProof.Wrong, "wrong", EstopVerdict.Wrong],
      [EstopProof.Corrupt, "corrupt", EstopVerdict.Corrupt],
      [EstopProof.Burst, "burst", EstopVerdict.Early],
    ];
    for (const [step, kind, verdict] of steps) {
      host.beatUntil(({ failCount, proofStep }) => failCount === 0 && proofStep === step);
      host.beats(8);
      const before = host.status.badCount;
      host.beat(kind);
      host.beat("none");
      const { badCount, failCount, lastBad, proofStep } = host.status;
      expect([badCount - before, failCount, lastBad, proofStep]).toEqual([1, 1, verdict, step + 1]);
    }
    expect(bench.edges).toEqual([]);
  },
);

list.fresh(
  "five bad answers and one silence each show a trip, then each output closes alone",
  ({ bench, host }) => {
    host.beatUntil(({ failCount }) => failCount === 0);
    host.flags = EstopFlag.Proof;
    host.beatUntil(({ mode }) => mode === EstopMode.Proof);
    host.proveStep(EstopProof.Wrong, "wrong");
    host.proveStep(EstopProof.Corrupt, "corrupt");
    host.beats(8);
    host.beat("burst");
    host.beats(8);
    host.beats(4, "wrong");
    host.beat("none");
    expect([host.status.proofStep, host.status.outputs]).toEqual([EstopProof.Five, 0]);
    host.proveStep(EstopProof.Five, "wrong");
    expect(host.status.outputs & EstopOutput.TripShown).toBe(EstopOutput.TripShown);
    host.beats(8);
    expect([host.status.proofStep, host.status.outputs]).toEqual([EstopProof.Silence, 0]);
    host.proveStep(EstopProof.Silence, "none");
    expect(host.status.outputs & EstopOutput.TripShown).toBe(EstopOutput.TripShown);
    host.beatUntil(({ mode }) => mode !== EstopMode.Proof);
    expect(told(host)).toBe("WAIT_RESET none");
    const { A, B } = EstopOutput;
    expect(bench.edges.map(({ outputBits }) => outputBits)).toEqual([A, 0, B, 0]);
    for (let edge = 0; edge < 4; edge += 2) {
      const heldUs = bench.edges[edge + 1]!.atUs - bench.edges[edge]!.atUs;
      expect(heldUs).toBeGreaterThanOrEqual(RELAY_US + FILTER_MS * MS);
      expect(heldUs).toBeLessThan(RELAY_US + (FILTER_MS + 2) * MS);
    }
  },
);

list.fresh(
  "arms on the edge of the reset button after the proof test, and tells no cause",
  ({ bench, host }) => {
    host.arm();
    expect([told(host), bench.outputBits]).toEqual(["ARMED none", EstopOutput.Both]);
    expect(host.brokenCount).toBe(0);
  },
);

list.fresh(
  "a reset that is held from boot on, or since before the proof ended, is no edge",
  ({ bench, host }) => {
    bench.switchBits |= ResetPressed;
    host.prove();
    host.beats(20);
    expect([told(host), bench.outputBits]).toEqual(["WAIT_RESET none", 0]);
    bench.switchBits &= ~ResetPressed;
    host.beats(4);
    host.pressReset();
    expect([told(host), bench.outputBits]).toEqual(["ARMED none", EstopOutput.Both]);
  },
);

list.fresh(
  "a reset pulse shorter than the filter, or before three good answers in a row, is none",
  ({ bench, host }) => {
    host.prove();
    host.beats(4);
    bench.switchBits |= ResetPressed;
    host.pause((FILTER_MS - 1) * MS);
    bench.switchBits &= ~ResetPressed;
    host.beats(4);
    expect(told(host)).toBe("WAIT_RESET none");
    host.beat("wrong");
    bench.switchBits |= ResetPressed;
    host.beats(2);
    bench.switchBits &= ~ResetPressed;
    host.beats(4);
    expect([told(host), bench.outputBits]).toEqual(["WAIT_RESET none", 0]);
  },
);

list.fresh(
  "the proof test waits for the button, the chain and the read-backs, and ends by itself",
  ({ bench, host }) => {
    const stays = () => {
      host.flags = EstopFlag.Proof;
      host.beats(10);
      return told(host);
    };
    for (const open of [ButtonAClosed | ButtonBClosed, ChainClosed]) {
      bench.switchBits &= ~open;
      host.beats(10);
      expect(stays()).toBe("TRIPPED power_on");
      bench.switchBits |= open;
      host.flags = 0;
      host.beats(4);
    }
    host.flags = EstopFlag.Proof | EstopFlag.Stop;
    host.beats(10);
    expect(told(host)).toBe("TRIPPED power_on");
    expect(stays()).toBe("PROOF none");
    host.flags = 0;
    host.beats(601);
    expect([told(host), bench.edges]).toEqual(["TRIPPED proof_timeout", []]);
  },
);

list.fresh("silence while an output is tested trips before its contact is missed", (rig) => {
  const { bench, host } = rig;
  bench.relays.stuckOpen = 3;
  host.proveUntilOutputs();
  expect([told(host), bench.outputBits]).toEqual(["PROOF none", EstopOutput.A]);
  const fromUs = host.lastBeatUs;
  host.pause((host.status.silenceMs + 5) * MS);
  expect(told(host)).toBe("TRIPPED silence");
  expect(msUntilOpen(rig, fromUs)).toBeLessThanOrEqual(host.status.silenceMs + 1);
});

for (const [count, ends] of [
  [2, "WAIT_RESET none"],
  [3, "ARMED none"],
] as const) {
  list.fresh(`a reset after ${count} good answers in a row leads to ${ends}`, ({ bench, host }) => {
    host.prove();
    host.beats(4);
    host.beat("wrong");
    host.beats(count);
    bench.switchBits |= ResetPressed;
    host.beat("none");
    bench.switchBits &= ~ResetPressed;
    host.beats(2);
    expect(told(host)).toBe(ends);
  });
}

type Interruption = readonly [string, string, (rig: Rig) => void];

const interruptions: readonly Interruption[] = [
  ["silence", "TRIPPED silence", ({ host }) => host.pause((host.status.silenceMs + 5) * MS)],
  ["the button", "TRIPPED button", ({ bench }) => (bench.switchBits &= ~ButtonAClosed)],
  ["a stop request", "TRIPPED stop_request", ({ host }) => (host.flags = EstopFlag.Stop)],
  ["the limit chain", "TRIPPED limit_chain", ({ bench }) => (bench.switchBits &= ~ChainClosed)],
  ["goodbye", "DISARMED host_closed", ({ host }) => (host.flags = EstopFlag.Goodbye)],
  ["a fail count of eight", "TRIPPED bad_answers", ({ host }) => host.beats(8, "burst")],
];
for (const [what, ends, interrupt] of interruptions) {
  list.fresh(`${what} between proof test and reset takes the proof back`, (rig) => {
    const { bench, host } = rig;
    host.prove();
    host.beats(8);
    interrupt(rig);
    host.beats(3);
    expect(told(host)).toBe(ends);
    bench.switchBits = SWITCHES_AT_REST;
    host.flags = 0;
    host.beats(8);
    host.pressReset();
    expect([told(host), bench.outputBits]).toEqual([ends, 0]);
  });
}

const inProof = interruptions.filter(([what]) => !/silence|eight/.test(what));
for (const [what, ends, interrupt] of inProof) {
  list.fresh(`${what} in the proof test ends it`, (rig) => {
    const { host } = rig;
    host.beatUntil(({ failCount }) => failCount === 0);
    host.flags = EstopFlag.Proof;
    host.beatUntil(({ mode }) => mode === EstopMode.Proof);
    host.flags = 0;
    interrupt(rig);
    host.beats(4);
    expect(told(host)).toBe(ends);
  });
}
