// Statuses that were said before, against the host's link: a line that repeats itself, a recording,
// counters at their wrap. None is believed, and a line that says nothing new is silent. With the
// edges of that silence, and of what a person may ask for anew.

import { expect, setDefaultTimeout, test } from "bun:test";
import { EstopMode } from "../runtime/contracts/estop-codes.ts";
import { EstopStatus, StatusWriter } from "../runtime/contracts/estop-frame.ts";
import { SeededRandom } from "../runtime/contracts/seeded-random.ts";
import { instant } from "../runtime/contracts/units.ts";
import type { EstopLink } from "../safety/estop-link.ts";
import { EstopProblem } from "../safety/estop-link.ts";
import { Fault } from "../safety/faults.ts";
import { LinkRig } from "./estop-link-rig.ts";
import { hasHostCompiler } from "./firmware-build.ts";

setDefaultTimeout(60_000);

const chipTest = test.skipIf(!hasHostCompiler);
const OPEN = 1 << Fault.EstopOpen;
const TRIALS = 1_000_000;
const MS = 1e6;

/** A link, and a way to let it hear a status with these fields at this time. */
function listening(): {
  readonly link: EstopLink;
  readonly hear: (fields: Partial<EstopStatus>, nowMs: number) => boolean;
} {
  const { link } = new LinkRig();
  const writer = new StatusWriter(null);
  const wire = new Uint8Array(writer.wireSizeBytes);
  const status = Object.assign(new EstopStatus(), { bootNonce: 7, stopMs: 300 });
  const hear = (fields: Partial<EstopStatus>, nowMs: number): boolean => {
    writer.writeInto(wire, Object.assign(status, fields));
    let heard = false;
    for (const byte of wire) heard = link.takeByte(byte, instant(nowMs * MS)) || heard;
    return heard;
  };
  return { link, hear };
}

chipTest("a line is silent when 50 ms are over, and not before; each tick sends one beat", () => {
  const { link, hear } = listening();
  hear({ counter: 1 }, 0);
  link.step(instant(50 * MS));
  expect(link.problem).toBe(EstopProblem.None);
  link.step(instant(50 * MS + 1));
  expect(link.problem).toBe(EstopProblem.Silent);
  const rig = new LinkRig().arm();
  const { beatCount } = rig.link;
  expect(rig.run(10).link.beatCount).toBe(beatCount + 10);
});

chipTest("an SS1-t that is too short is no proof test to repeat", () => {
  const rig = new LinkRig(undefined, 301).run(4);
  rig.link.proveAgain();
  expect(rig.link.problem).toBe(EstopProblem.StopTooShort);
});

chipTest("a line that repeats the last status for ever is silent after 50 ms", () => {
  const rig = new LinkRig().arm();
  let last = new Uint8Array(0);
  rig.hears = (bytes) => (last = bytes.length > 0 ? bytes.slice() : last);
  rig.run(1);
  rig.hears = () => last;
  const { statusCount } = rig.link;
  rig.run(12);
  expect(rig.link).toMatchObject({ problem: EstopProblem.Silent, faultBits: OPEN, statusCount });
});

chipTest("a recording of the line while it was armed does not hide that the chip has cut", () => {
  const rig = new LinkRig().arm();
  const recording: Uint8Array[] = [];
  rig.hears = (bytes) => {
    recording.push(bytes.slice());
    return bytes;
  };
  rig.run(100);
  let at = 0;
  rig.hears = () => recording[at++ % recording.length]!;
  rig.run(20);
  expect(rig.bench.outputBits).toBe(0);
  expect(rig.link).toMatchObject({ problem: EstopProblem.Silent, faultBits: OPEN });
});

chipTest(`of ${TRIALS} statuses that are not newer the host believes none`, () => {
  const { link, hear } = listening();
  expect(hear({ counter: 100, mode: EstopMode.Tripped }, 1)).toBe(true);
  const random = new SeededRandom(1);
  let believed = 0;
  for (let trial = 0; trial < TRIALS; trial += 1) {
    const back = Math.floor(random.next() * 32_769);
    const counter = (100 - back) & 0xffff;
    if (hear({ counter, mode: EstopMode.Armed, question: trial }, 2)) believed += 1;
  }
  expect([believed, link.statusCount, link.brokenCount]).toEqual([0, 1, TRIALS]);
  expect(link.status.mode).toBe(EstopMode.Tripped);
});

chipTest("a counter may rise by 32767 and wrap, another boot may begin anywhere", () => {
  const { link, hear } = listening();
  const heard = [100, 101, 32_868, 65_535, 0, 32_768, 32_768].map((counter) =>
    hear({ counter }, 1),
  );
  expect(heard).toEqual([true, true, true, true, true, false, false]);
  expect([hear({ counter: 0, bootNonce: 8 }, 1), link.rebootCount]).toEqual([true, 1]);
});

chipTest("after so long a silence that the counter says nothing any status is heard", () => {
  const { hear } = listening();
  const tooLongMs = 32_767 * 5;
  expect(hear({ counter: 9 }, 0)).toBe(true);
  expect(hear({ counter: 9 }, tooLongMs - 1)).toBe(false);
  expect(hear({ counter: 9 }, tooLongMs)).toBe(true);
});
