// The host's part of the proof test where it is broken off or cut short: what a person does in the
// middle is no failure, the next test begins anew, and a silence that was none is not believed.

import { expect, setDefaultTimeout, test } from "bun:test";
import { EstopOutput, EstopProof, EstopVerdict } from "../runtime/contracts/estop-codes.ts";
import { EstopStatus, StatusReader, StatusWriter } from "../runtime/contracts/estop-frame.ts";
import { EstopProblem } from "../safety/estop-link.ts";
import { SWITCHES_AT_REST } from "./estop-bench.ts";
import { CoreBench, SHIPPED } from "./estop-core-bench.ts";
import { LinkRig } from "./estop-link-rig.ts";
import { hasHostCompiler } from "./firmware-build.ts";

setDefaultTimeout(30_000); // the first of them compiles the core

const chipTest = test.skipIf(!hasHostCompiler);
const steps = [EstopProof.Wrong, EstopProof.Corrupt, EstopProof.Burst, EstopProof.Five];

chipTest.each(steps)(
  "a button in step %d, four times, is no failed test, and the fifth arms",
  (step) => {
    const rig = new LinkRig();
    for (let time = 0; time < 4; time += 1) {
      rig.until(({ link, mode }) => mode === "PROOF" && link.status.proofStep === step).run(2);
      rig.bench.switchBits = SWITCHES_AT_REST & ~3;
      rig.until(({ mode }) => mode === "TRIPPED").run(4);
      rig.bench.switchBits = SWITCHES_AT_REST;
      expect(rig.link.problem).toBe(EstopProblem.None);
    }
    rig.arm();
    expect(rig.link).toMatchObject({ problem: EstopProblem.None, faultBits: 0 });
  },
);

chipTest("a chip that ends its silence at once was not silent", () => {
  const reader = new StatusReader(null);
  const writer = new StatusWriter(null);
  const status = new EstopStatus();
  const rig = new LinkRig(new CoreBench({ ...SHIPPED, silenceMs: 100 }));
  let silences = 0;
  rig.hears = (bytes) => {
    const out: number[] = [];
    for (const byte of bytes) {
      if (reader.takeInto(status, byte) !== EstopVerdict.Good) continue;
      if (status.proofStep === EstopProof.Wrong) silences = 0;
      if (status.proofStep === EstopProof.Silence) silences += 1;
      if (status.proofStep === EstopProof.Silence && silences > 1) {
        status.proofStep = EstopProof.Recover;
        status.outputs |= EstopOutput.TripShown;
      }
      const wire = new Uint8Array(writer.wireSizeBytes);
      writer.writeInto(wire, status);
      out.push(...wire);
    }
    return Uint8Array.from(out);
  };
  rig.run(2_000);
  expect(rig.link.problem).toBe(EstopProblem.ProofEcho);
});
