// The host's end of the e-stop line in the proof test: what it spoils, what it makes of an echo
// that was wrong, and how often a test may fail. With a chip it is in `firmware-tests/`.

import { expect, test } from "bun:test";
import { EstopCause, EstopFlag, EstopMode } from "../runtime/contracts/estop-codes.ts";
import { EstopOutput, EstopProof, EstopVerdict } from "../runtime/contracts/estop-codes.ts";
import { EstopBeatSlot } from "../runtime/contracts/estop-line.ts";
import { Line } from "./estop-link-bench.ts";
import { EstopProblem } from "./estop-link.ts";

const { Proof, WaitReset } = EstopMode;
const { Button, ProofTimeout } = EstopCause;
/** An echo of what was never sent. */
const lie = { proofStep: EstopProof.Five };

test("the wrong answer differs in one bit, and the burst has all that its tick earned", () => {
  const line = new Line();
  line.beat.set([8, 8, 8], EstopBeatSlot.answers + 1);
  line.beat[EstopBeatSlot.answers] = 0x8000_8000;
  line.beat[EstopBeatSlot.tickIndex] = 0xffff_fffe;
  line.hear({ mode: Proof });
  expect(line.link.answersWanted).toBe(1);
  const sent = [...line.send(), ...line.send()].map(({ answer }) => answer);
  expect(sent).toEqual([0x8000_0000, 0x8000_8000]);
  line.hear({ proofStep: EstopProof.Corrupt, lastBad: EstopVerdict.Wrong, badCount: 1 });
  const corrupt = [...line.send(), ...line.send()].map(({ verdict }) => verdict);
  expect(corrupt).toEqual([EstopVerdict.Corrupt, EstopVerdict.Good]);
  line.hear({ proofStep: EstopProof.Burst, lastBad: EstopVerdict.Corrupt, badCount: 2 });
  expect([line.link.answersWanted, line.send()]).toEqual([4, []]);
  line.beat[EstopBeatSlot.answerCount] = 4;
  const burst = line.send().map(({ answer, tickIndex }) => [tickIndex, answer]);
  expect(burst).toEqual([
    [0xffff_fffe, 0x8000_8000],
    [0xffff_ffff, 8],
    [0, 8],
    [1, 8],
  ]);
});

test("a spoilt frame is one corrupt frame, whatever is in it", () => {
  for (let byte = 0; byte < 256; byte += 1) {
    const line = new Line();
    line.beat[EstopBeatSlot.bootNonce] = byte * 0x0101_0101;
    line.hear({ mode: Proof });
    line.hear({ proofStep: EstopProof.Corrupt, lastBad: EstopVerdict.Wrong, badCount: 1 });
    const verdicts = line.send().map(({ verdict }) => verdict);
    expect([byte, verdicts]).toEqual([byte, [EstopVerdict.Corrupt]]);
  }
});

test("after an echo that was wrong nothing is sent until the test is over", () => {
  const line = new Line();
  line.hear({ mode: Proof });
  line.hear(lie);
  expect(line.send()).toEqual([]);
  line.trip(ProofTimeout);
  expect(line.send()).toHaveLength(1);
  line.hear({ mode: Proof, proofStep: EstopProof.Wrong });
  expect(line.send()).toHaveLength(1);
});

test("a proof test that ends at the reset is well if it was whole, and only then", () => {
  const line = new Line().proved();
  line.hear({ mode: WaitReset });
  expect(line.link.problem).toBe(EstopProblem.None);
  const blind = new Line();
  blind.hear({ mode: Proof });
  blind.hear({ mode: WaitReset });
  expect(blind.link.problem).toBe(EstopProblem.ProofEcho);
  const lying = new Line().proved();
  lying.hear({ outputs: EstopOutput.Both, proofStep: EstopProof.OpenB });
  lying.hear({ mode: WaitReset, outputs: 0 });
  expect(lying.link.problem).toBe(EstopProblem.ProofEcho);
});

test("the third proof test in a row that failed is the last, and is named", () => {
  const late = new Line().failed(ProofTimeout).failed(ProofTimeout);
  expect(late.link.problem).toBe(EstopProblem.None);
  expect(late.failed(ProofTimeout).link.problem).toBe(EstopProblem.ProofFailed);
  const lying = new Line().failed(Button, lie).failed(Button, lie);
  expect(lying.link.problem).toBe(EstopProblem.None);
  expect(lying.failed(Button, lie).link.problem).toBe(EstopProblem.ProofEcho);
});

test("a test that a person broke off is none that failed, and one that passed ends the row", () => {
  const line = new Line();
  for (let count = 0; count < 5; count += 1) line.failed(Button);
  line.failed(ProofTimeout).failed(ProofTimeout).proved();
  line.hear({ mode: WaitReset });
  line.failed(ProofTimeout).failed(ProofTimeout);
  expect(line.link.problem).toBe(EstopProblem.None);
});

test("a person's wish for another test forgives what failed, but no SS1-t and no silence", () => {
  const line = new Line().failed(ProofTimeout).failed(ProofTimeout);
  line.link.proveAgain();
  line.failed(ProofTimeout).failed(ProofTimeout);
  expect(line.link.problem).toBe(EstopProblem.None);
  line.failed(ProofTimeout).link.proveAgain();
  expect([line.link.problem, line.flags]).toEqual([EstopProblem.None, EstopFlag.Proof]);
  line.wait(51).link.proveAgain();
  expect(line.link.problem).toBe(EstopProblem.Silent);
  line.hear({ stopMs: 299 });
  line.link.proveAgain();
  expect(line.link.problem).toBe(EstopProblem.StopTooShort);
});

test("a chip that believes it has passed is trusted by no wish until it has opened", () => {
  const line = new Line();
  line.hear({ mode: Proof });
  line.hear({ mode: WaitReset });
  line.link.proveAgain();
  expect(line.link.problem).toBe(EstopProblem.ProofEcho);
  line.trip(Button).link.proveAgain();
  expect([line.link.problem, line.flags]).toEqual([EstopProblem.None, EstopFlag.Proof]);
});
