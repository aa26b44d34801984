// What the e-stop chip must do, as one list of tests that every bench runs: the core on this machine,
// each emulator, a board. It looks at pins and statuses in the chip's own time, and at nothing inside.

import { expect, test } from "bun:test";
import { EstopCause, EstopFlag, EstopInput, EstopMode } from "../runtime/contracts/estop-codes.ts";
import { EstopOutput, EstopProof, EstopVerdict } from "../runtime/contracts/estop-codes.ts";
import { estopCauseNames, estopModeNames } from "../runtime/contracts/estop-codes.ts";
import type { EstopBench } from "./estop-bench.ts";
import { RELAY_US, SWITCHES_AT_REST } from "./estop-bench.ts";
import type { Beat } from "./estop-host.ts";
import { EstopHost } from "./estop-host.ts";

const MS = 1_000;
/** A chip counts its boot in EEPROM before it says anything. */
const BOOT_MS = 60;
/** Shorter pulses are none. */
const FILTER_MS = 3;
const { ButtonAClosed, ButtonBClosed, ChainClosed, ResetPressed } = EstopInput;

type Rig = { readonly bench: EstopBench; readonly host: EstopHost };

/** `ARMED none`: what the chip says of itself. */
function told({ status }: EstopHost): string {
  return `${estopModeNames[status.mode]} ${estopCauseNames[status.cause]}`;
}

/** Ms from a moment to the edge after which both outputs stay low; NaN when they are not low. */
function msUntilOpen({ bench }: Rig, fromUs: number): number {
  const edge = bench.edges.at(-1);
  return edge?.outputs === 0 && bench.outputs === 0 ? (edge.atUs - fromUs) / MS : Number.NaN;
}

/** Registers every test for one kind of bench; each test makes a bench of its own. */
export function describeEstop(makeBench: () => EstopBench): void {
  const withRig = (run: (rig: Rig) => void) => () => {
    const bench = makeBench();
    try {
      run({ bench, host: new EstopHost(bench) });
    } finally {
      bench.close();
    }
  };
  const armed = (run: (rig: Rig) => void) =>
    withRig((rig) => {
      rig.host.arm();
      run(rig);
    });
  describeArming(withRig);
  describeAnswers(armed);
  describeStops(armed);
  describeFaults(armed);
  describeEnds(armed);
}

type Wrapper = (run: (rig: Rig) => void) => () => void;

function describeArming(withRig: Wrapper): void {
  test(
    "boots tripped, and neither answers nor the reset alone close anything",
    withRig(({ bench, host }) => {
      host.pause(BOOT_MS * MS);
      expect([told(host), bench.outputs, bench.edges]).toEqual(["TRIPPED power_on", 0, []]);
      host.beats(20);
      host.pressReset();
      expect([told(host), bench.edges]).toEqual(["TRIPPED power_on", []]);
    }),
  );

  test(
    "the proof test echoes each bad answer with its code and one count more",
    withRig(({ bench, host }) => {
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
        expect([badCount - before, failCount, lastBad, proofStep]).toEqual([
          1,
          1,
          verdict,
          step + 1,
        ]);
      }
      expect(bench.edges).toEqual([]);
    }),
  );

  test(
    "five bad answers and one silence each show a trip, then each output closes alone",
    withRig(({ bench, host }) => {
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
      expect(bench.edges.map(({ outputs }) => outputs)).toEqual([A, 0, B, 0]);
      for (let edge = 0; edge < 4; edge += 2) {
        const heldUs = bench.edges[edge + 1]!.atUs - bench.edges[edge]!.atUs;
        expect(heldUs).toBeGreaterThanOrEqual(RELAY_US + FILTER_MS * MS);
        expect(heldUs).toBeLessThan(RELAY_US + (FILTER_MS + 2) * MS);
      }
    }),
  );

  test(
    "arms on the edge of the reset button after the proof test, and tells no cause",
    withRig(({ bench, host }) => {
      host.arm();
      expect([told(host), bench.outputs]).toEqual(["ARMED none", EstopOutput.Both]);
      expect(host.brokenCount).toBe(0);
    }),
  );

  test(
    "a reset that is held from boot on, or since before the proof ended, is no edge",
    withRig(({ bench, host }) => {
      bench.switches |= ResetPressed;
      host.prove();
      host.beats(20);
      expect([told(host), bench.outputs]).toEqual(["WAIT_RESET none", 0]);
      bench.switches &= ~ResetPressed;
      host.beats(4);
      host.pressReset();
      expect([told(host), bench.outputs]).toEqual(["ARMED none", EstopOutput.Both]);
    }),
  );

  test(
    "a reset pulse shorter than the filter, or before three good answers in a row, is none",
    withRig(({ bench, host }) => {
      host.prove();
      host.beats(4);
      bench.switches |= ResetPressed;
      host.pause((FILTER_MS - 1) * MS);
      bench.switches &= ~ResetPressed;
      host.beats(4);
      expect(told(host)).toBe("WAIT_RESET none");
      host.beat("wrong");
      bench.switches |= ResetPressed;
      host.beats(2);
      bench.switches &= ~ResetPressed;
      host.beats(4);
      expect([told(host), bench.outputs]).toEqual(["WAIT_RESET none", 0]);
    }),
  );

  test(
    "the proof test waits for the button, the chain and the read-backs, and ends by itself",
    withRig(({ bench, host }) => {
      const stays = () => {
        host.flags = EstopFlag.Proof;
        host.beats(10);
        return told(host);
      };
      for (const open of [ButtonAClosed | ButtonBClosed, ChainClosed]) {
        bench.switches &= ~open;
        host.beats(10);
        expect(stays()).toBe("TRIPPED power_on");
        bench.switches |= open;
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
    }),
  );
}

function describeAnswers(armed: Wrapper): void {
  const bad: [Beat, EstopVerdict][] = [
    ["wrong", EstopVerdict.Wrong],
    ["corrupt", EstopVerdict.Corrupt],
    ["foreign", EstopVerdict.Foreign],
    ["malformed", EstopVerdict.Malformed],
    ["other_boot", EstopVerdict.OtherBoot],
    ["repeated", EstopVerdict.Repeated],
    ["late", EstopVerdict.Late],
    ["same_tick", EstopVerdict.SameTick],
    ["burst", EstopVerdict.Early],
  ];
  for (const [kind, verdict] of bad) {
    test(
      `one ${kind} answer counts once, and a good one takes it back`,
      armed(({ bench, host }) => {
        host.beats(8);
        const before = host.status.badCount;
        host.beat(kind);
        host.beat("none");
        const { badCount, failCount, lastBad } = host.status;
        expect([badCount - before, failCount, lastBad]).toEqual([1, 1, verdict]);
        host.beats(8);
        expect([host.status.failCount, bench.outputs]).toEqual([0, EstopOutput.Both]);
      }),
    );
  }

  test(
    "frames of zeros count neither way",
    armed(({ host }) => {
      const before = host.status.badCount;
      for (let index = 0; index < 20; index += 1) host.beat(index % 2 === 0 ? "zeros" : "good");
      expect([host.status.badCount, host.status.failCount]).toEqual([before, 0]);
      expect(told(host)).toBe("ARMED none");
    }),
  );

  test(
    "bad answers that good ones interrupt open the outputs at five and latch at eight",
    armed(({ bench, host }) => {
      // Never so many bad ones in a row that it is silence as well.
      const expectCount = (failCount: number, outputs: number) => {
        host.beat("none");
        const told = [host.status.mode, host.status.failCount, bench.outputs];
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
      expect([told(host), bench.outputs]).toEqual(["TRIPPED bad_answers", 0]);
      host.beats(20);
      host.pressReset();
      expect([told(host), bench.outputs]).toEqual(["TRIPPED bad_answers", 0]);
    }),
  );

  test(
    "silence opens both outputs within T_wd + 1 ms of the last good beat, 20 times, and latches",
    armed((rig) => {
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
        expect([told(host), bench.outputs]).toEqual(["TRIPPED silence", 0]);
        host.arm();
      }
      const [min, max] = [Math.min(...seenMs), Math.max(...seenMs)];
      console.log(`${bench.name}: silence to open ${min.toFixed(2)} to ${max.toFixed(2)} ms`);
      expect(min).toBeGreaterThanOrEqual(twdMs - 0.3);
      expect(max).toBeLessThanOrEqual(twdMs + 1);
    }),
  );

  test(
    "answers that are all wrong are silence as well",
    armed((rig) => {
      const { host } = rig;
      const fromUs = host.lastBeatUs;
      host.beats(4, "corrupt");
      host.pause((host.status.silenceMs + 5) * MS);
      expect(told(host)).toBe("TRIPPED silence");
      expect(msUntilOpen(rig, fromUs)).toBeLessThanOrEqual(host.status.silenceMs + 1);
    }),
  );

  test(
    "a host that beats too fast is off at once and latched",
    armed(({ bench, host }) => {
      host.beats(8, "burst");
      host.beat("none");
      expect([told(host), bench.outputs]).toEqual(["TRIPPED bad_answers", 0]);
    }),
  );

  test(
    "one frame in twenty lost never trips",
    armed(({ bench, host }) => {
      const edges = bench.edges.length;
      for (let index = 0; index < 200; index += 1) host.beat(index % 20 === 19 ? "none" : "good");
      expect([told(host), host.status.failCount, bench.edges.length]).toEqual([
        "ARMED none",
        0,
        edges,
      ]);
    }),
  );
}

function describeStops(armed: Wrapper): void {
  test(
    "the button starts SS1-t: outputs stay closed for it, then open, and nothing cancels it",
    armed((rig) => {
      const { bench, host } = rig;
      const fromUs = bench.nowUs;
      bench.switches &= ~(ButtonAClosed | ButtonBClosed);
      host.beats(10);
      expect([told(host), bench.outputs]).toEqual(["STOPPING button", EstopOutput.Both]);
      bench.switches = SWITCHES_AT_REST;
      host.flags = EstopFlag.Proof;
      host.beats(10);
      host.flags = EstopFlag.Stop;
      host.beats(4);
      host.flags = 0;
      host.pressReset();
      expect([told(host), bench.outputs]).toEqual(["STOPPING button", EstopOutput.Both]);
      host.beats(60);
      expect([told(host), bench.outputs]).toEqual(["TRIPPED button", 0]);
      const lastedMs = msUntilOpen(rig, fromUs) - host.status.stopMs;
      expect([lastedMs >= FILTER_MS, lastedMs <= FILTER_MS + 1]).toEqual([true, true]);
    }),
  );

  test(
    "a stop request starts SS1-t even in a frame whose answer is wrong",
    armed((rig) => {
      const { bench, host } = rig;
      host.beats(4);
      host.flags = EstopFlag.Stop;
      const fromUs = bench.nowUs;
      host.beat("wrong");
      host.flags = 0;
      host.beats(10);
      expect([told(host), bench.outputs]).toEqual(["STOPPING stop_request", EstopOutput.Both]);
      host.beats(60);
      expect([told(host), bench.outputs]).toEqual(["TRIPPED stop_request", 0]);
      const lastedMs = msUntilOpen(rig, fromUs) - host.status.stopMs;
      expect([lastedMs >= 0.6, lastedMs <= 2]).toEqual([true, true]);
    }),
  );

  test(
    "silence during SS1-t cuts at once",
    armed((rig) => {
      const { bench, host } = rig;
      bench.switches &= ~(ButtonAClosed | ButtonBClosed);
      host.beats(4);
      const fromUs = host.lastBeatUs;
      host.pause((host.status.silenceMs + 5) * MS);
      expect(told(host)).toBe("TRIPPED silence");
      expect(msUntilOpen(rig, fromUs)).toBeLessThanOrEqual(host.status.silenceMs + 1);
    }),
  );

  for (const [name, channel] of [
    ["A", ButtonAClosed],
    ["B", ButtonBClosed],
  ] as const) {
    test(
      `channel ${name} alone starts SS1-t, is a discrepancy, and asks for both to open`,
      armed((rig) => {
        const { bench, host } = rig;
        const fromUs = bench.nowUs;
        bench.switches &= ~channel;
        host.beats(10);
        expect([told(host), bench.outputs]).toEqual(["STOPPING button", EstopOutput.Both]);
        host.beats(20);
        expect([told(host), bench.outputs]).toEqual(["TRIPPED discrepancy", 0]);
        const lateMs = msUntilOpen(rig, fromUs) - host.status.discrepancyMs;
        expect([lateMs >= FILTER_MS, lateMs <= FILTER_MS + 1]).toEqual([true, true]);
        bench.switches = SWITCHES_AT_REST;
        host.flags = EstopFlag.Proof;
        host.beats(20);
        expect(told(host)).toBe("TRIPPED discrepancy");
        expect(host.status.outputs).toBe(EstopOutput.BothOpenDue);
        bench.switches &= ~(ButtonAClosed | ButtonBClosed);
        host.beats(4);
        bench.switches = SWITCHES_AT_REST;
        host.flags = 0;
        host.arm();
        expect(bench.outputs).toBe(EstopOutput.Both);
      }),
    );
  }

  test(
    "pulses on the button that are shorter than the filter do nothing",
    armed(({ bench, host }) => {
      for (let index = 0; index < 10; index += 1) {
        bench.switches &= ~(ButtonAClosed | ButtonBClosed);
        bench.runUntil(bench.nowUs + 2 * MS);
        bench.switches = SWITCHES_AT_REST;
        host.beat();
      }
      expect([told(host), bench.outputs]).toEqual(["ARMED none", EstopOutput.Both]);
    }),
  );
}

function describeFaults(armed: Wrapper): void {
  test(
    "the limit chain cuts without waiting for SS1-t",
    armed((rig) => {
      const { bench, host } = rig;
      const fromUs = bench.nowUs;
      bench.switches &= ~ChainClosed;
      host.beats(2);
      expect([told(host), bench.outputs]).toEqual(["TRIPPED limit_chain", 0]);
      expect(msUntilOpen(rig, fromUs)).toBeLessThanOrEqual(FILTER_MS + 1);
    }),
  );

  const contacts: [string, EstopCause, (bench: EstopBench) => void][] = [
    ["A that opens by itself", EstopCause.StuckOpenA, ({ relays }) => (relays.stuckOpen = 1)],
    ["B that opens by itself", EstopCause.StuckOpenB, ({ relays }) => (relays.stuckOpen = 2)],
  ];
  for (const [name, cause, fail] of contacts) {
    test(
      `contact ${name} cuts the other one too`,
      armed((rig) => {
        const { bench, host } = rig;
        const fromUs = bench.nowUs;
        fail(bench);
        host.beats(14);
        expect([host.status.mode, host.status.cause, bench.outputs]).toEqual([
          EstopMode.Tripped,
          cause,
          0,
        ]);
        expect(msUntilOpen(rig, fromUs)).toBeLessThanOrEqual(FILTER_MS + 50 + 1);
      }),
    );
  }

  for (const [bit, cause] of [
    [1, EstopCause.WeldedA],
    [2, EstopCause.WeldedB],
  ] as const) {
    test(
      `a contact that stays closed after a stop is told as ${estopCauseNames[cause]}, and bars arming`,
      armed(({ bench, host }) => {
        bench.relays.welded = bit;
        host.pause((host.status.silenceMs + 5) * MS);
        host.beats(14);
        expect([host.status.mode, host.status.cause]).toEqual([EstopMode.Tripped, cause]);
        host.flags = EstopFlag.Proof;
        host.beats(20);
        expect([host.status.mode, bench.outputs]).toEqual([EstopMode.Tripped, 0]);
        bench.relays.welded = 0;
        host.flags = 0;
        host.arm();
        expect(bench.outputs).toBe(EstopOutput.Both);
      }),
    );
  }

  test(
    "in the proof test a contact that does not follow, or follows the wrong output, is found",
    armed(({ bench, host }) => {
      host.flags = EstopFlag.Goodbye;
      host.beats(2);
      host.flags = 0;
      bench.relays.stuckOpen = 2;
      host.prove();
      expect([told(host), bench.outputs]).toEqual(["TRIPPED stuck_open_b", 0]);
      bench.relays.stuckOpen = 0;
      // Output A moves both contacts.
      const { relays } = bench;
      const contactsAt = relays.contactsAt.bind(relays);
      relays.contactsAt = (nowUs, outputs) => contactsAt(nowUs, (outputs & 1) * 3);
      host.prove();
      expect([told(host), bench.outputs]).toEqual(["TRIPPED welded_b", 0]);
    }),
  );
}

function describeEnds(armed: Wrapper): void {
  test(
    "goodbye disarms without a fault, and only a whole arming closes the outputs again",
    armed(({ bench, host }) => {
      host.flags = EstopFlag.Goodbye;
      host.beats(2);
      expect([told(host), bench.outputs]).toEqual(["DISARMED host_closed", 0]);
      host.pause(200 * MS);
      expect(told(host)).toBe("DISARMED host_closed");
      host.restart();
      host.beats(10);
      host.pressReset();
      expect([told(host), bench.outputs]).toEqual(["DISARMED host_closed", 0]);
      host.arm();
      expect([told(host), bench.outputs]).toEqual(["ARMED none", EstopOutput.Both]);
    }),
  );

  test(
    "goodbye during SS1-t opens at once and stays the stop that it was",
    armed(({ bench, host }) => {
      bench.switches &= ~(ButtonAClosed | ButtonBClosed);
      host.beats(4);
      host.flags = EstopFlag.Goodbye;
      host.beats(2);
      expect([told(host), bench.outputs]).toEqual(["TRIPPED button", 0]);
    }),
  );

  test(
    "a host process that dies and comes back finds a tripped chip, and may arm it anew",
    armed(({ bench, host }) => {
      host.restart();
      host.pause((host.status.silenceMs + 5) * MS);
      host.beats(10);
      expect([told(host), host.status.failCount, bench.outputs]).toEqual(["TRIPPED silence", 0, 0]);
      host.arm();
      expect(bench.outputs).toBe(EstopOutput.Both);
    }),
  );

  for (const cause of ["power_on", "reset_pin", "brown_out"] as const) {
    test(
      `a reset of the chip by ${cause} opens the outputs, and answers to the boot before are refused`,
      armed(({ bench, host }) => {
        const nonce = host.status.bootNonce;
        bench.reset(cause);
        expect(bench.outputs).toBe(0);
        host.pause(BOOT_MS * MS);
        host.beat("old_boot");
        host.beat("none");
        expect([host.status.lastBad, host.status.badCount]).toEqual([EstopVerdict.OtherBoot, 1]);
        expect(host.status.bootNonce).not.toBe(nonce);
        expect([told(host), bench.outputs]).toEqual([`TRIPPED ${cause}`, 0]);
        host.arm();
        expect(bench.outputs).toBe(EstopOutput.Both);
      }),
    );
  }
}
