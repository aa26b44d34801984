// What never waits for SS1-t: limit chain and contacts; then how a run ends and another begins.
// Part of the list in estop-behaviour.ts.

import { expect } from "bun:test";
import { EstopCause, EstopFlag, EstopInput, EstopMode } from "../runtime/contracts/estop-codes.ts";
import { EstopOutput, EstopVerdict, estopCauseNames } from "../runtime/contracts/estop-codes.ts";
import type { EstopBench } from "./estop-bench.ts";
import { BOOT_MS, BehaviourList, FILTER_MS, MS } from "./estop-rig.ts";
import { msUntilOpen, told } from "./estop-rig.ts";

const { ButtonAClosed, ButtonBClosed, ChainClosed } = EstopInput;
const list = new BehaviourList();
export const faultsBehaviour = list.cases;

list.armed("the limit chain cuts without waiting for SS1-t", (rig) => {
  const { bench, host } = rig;
  const fromUs = bench.nowUs;
  bench.switchBits &= ~ChainClosed;
  host.beats(2);
  expect([told(host), bench.outputBits]).toEqual(["TRIPPED limit_chain", 0]);
  expect(msUntilOpen(rig, fromUs)).toBeLessThanOrEqual(FILTER_MS + 1);
});

const contacts: [string, EstopCause, (bench: EstopBench) => void][] = [
  ["A that opens by itself", EstopCause.StuckOpenA, ({ relays }) => (relays.stuckOpen = 1)],
  ["B that opens by itself", EstopCause.StuckOpenB, ({ relays }) => (relays.stuckOpen = 2)],
];
for (const [name, cause, fail] of contacts) {
  list.armed(`contact ${name} cuts the other one too`, (rig) => {
    const { bench, host } = rig;
    const fromUs = bench.nowUs;
    fail(bench);
    host.beats(14);
    expect([host.status.mode, host.status.cause, bench.outputBits]).toEqual([
      EstopMode.Tripped,
      cause,
      0,
    ]);
    expect(msUntilOpen(rig, fromUs)).toBeLessThanOrEqual(FILTER_MS + 50 + 1);
  });
}

for (const [bit, cause] of [
  [1, EstopCause.WeldedA],
  [2, EstopCause.WeldedB],
] as const) {
  list.armed(
    `a contact that stays closed is told as ${estopCauseNames[cause]}, and bars arming`,
    ({ bench, host }) => {
      bench.relays.welded = bit;
      host.pause((host.status.silenceMs + 5) * MS);
      host.beats(14);
      expect([host.status.mode, host.status.cause]).toEqual([EstopMode.Tripped, cause]);
      host.flags = EstopFlag.Proof;
      host.beats(20);
      expect([host.status.mode, bench.outputBits]).toEqual([EstopMode.Tripped, 0]);
      bench.relays.welded = 0;
      host.flags = 0;
      host.arm();
      expect(bench.outputBits).toBe(EstopOutput.Both);
    },
  );
}

list.armed(
  "in the proof test a contact that does not follow, or follows the wrong output, is found",
  ({ bench, host }) => {
    host.flags = EstopFlag.Goodbye;
    host.beats(2);
    host.flags = 0;
    bench.relays.stuckOpen = 2;
    host.prove();
    expect([told(host), bench.outputBits]).toEqual(["TRIPPED stuck_open_b", 0]);
    bench.relays.stuckOpen = 0;
    // Output A moves both contacts.
    const { relays } = bench;
    const contactsAt = relays.contactsAt.bind(relays);
    relays.contactsAt = (nowUs, outputs) => contactsAt(nowUs, (outputs & 1) * 3);
    host.prove();
    expect([told(host), bench.outputBits]).toEqual(["TRIPPED welded_b", 0]);
  },
);

list.armed(
  "goodbye disarms without a fault, and only a whole arming closes the outputs again",
  ({ bench, host }) => {
    host.flags = EstopFlag.Goodbye;
    host.beats(2);
    expect([told(host), bench.outputBits]).toEqual(["DISARMED host_closed", 0]);
    host.pause(200 * MS);
    expect(told(host)).toBe("DISARMED host_closed");
    host.restart();
    host.beats(10);
    host.pressReset();
    expect([told(host), bench.outputBits]).toEqual(["DISARMED host_closed", 0]);
    host.arm();
    expect([told(host), bench.outputBits]).toEqual(["ARMED none", EstopOutput.Both]);
  },
);

list.armed("a contact that is welded when the host closes is told, and bars arming", (rig) => {
  const { bench, host } = rig;
  bench.relays.welded = EstopOutput.B;
  host.flags = EstopFlag.Goodbye;
  host.beats(2);
  host.flags = 0;
  host.beats(14);
  expect([told(host), bench.outputBits]).toEqual(["TRIPPED welded_b", 0]);
});

list.armed(
  "goodbye during SS1-t opens at once and stays the stop that it was",
  ({ bench, host }) => {
    bench.switchBits &= ~(ButtonAClosed | ButtonBClosed);
    host.beats(4);
    host.flags = EstopFlag.Goodbye;
    host.beats(2);
    expect([told(host), bench.outputBits]).toEqual(["TRIPPED button", 0]);
  },
);

list.armed(
  "a host process that dies and comes back finds a tripped chip, and may arm it anew",
  ({ bench, host }) => {
    host.restart();
    host.pause((host.status.silenceMs + 5) * MS);
    host.beats(10);
    expect([told(host), host.status.failCount, bench.outputBits]).toEqual([
      "TRIPPED silence",
      0,
      0,
    ]);
    host.arm();
    expect(bench.outputBits).toBe(EstopOutput.Both);
  },
);

for (const cause of ["power_on", "reset_pin", "brown_out"] as const) {
  list.armed(
    `a reset of the chip by ${cause} opens the outputs, and answers to the boot before are refused`,
    ({ bench, host }) => {
      const nonce = host.status.bootNonce;
      bench.reset(cause);
      expect(bench.outputBits).toBe(0);
      host.pause(BOOT_MS * MS);
      host.beat("old_boot");
      host.beat("none");
      expect([host.status.lastBad, host.status.badCount]).toEqual([EstopVerdict.OtherBoot, 1]);
      expect(host.status.bootNonce).not.toBe(nonce);
      expect([told(host), bench.outputBits]).toEqual([`TRIPPED ${cause}`, 0]);
      host.arm();
      expect(bench.outputBits).toBe(EstopOutput.Both);
    },
  );
}
