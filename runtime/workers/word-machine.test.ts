// The machine as the control tick is told of it: up to when the simulated world has run, on the
// grid on which its driver paces it, and no world at all on hardware.

import { expect, test } from "bun:test";
import { duration, instant } from "../contracts/units.ts";
import { NO_WORLD } from "../core/machine-watch.ts";
import { loadRobot, loadTask } from "../profile/load.ts";
import { CONTROL_WORD_COUNT, ControlWords } from "../shm/control-words.ts";
import { WordMachine } from "./ports.ts";
import { sessionOrigin, SystemClock } from "./system-clock.ts";

const run = {
  robot: loadRobot("so101"),
  task: loadTask("none"),
  policy: "hold",
  seed: 1,
  faults: [],
  policyLatency: undefined,
  spinTailNs: duration(0),
  isHardware: false,
  estop: undefined,
};

test("the world's time is the phase of its beat: half a period before the tick after it", () => {
  const words = new ControlWords(new Int32Array(CONTROL_WORD_COUNT));
  const clock = new SystemClock(sessionOrigin(), duration(0), { stopped: false });
  const machines = [false, true].map(
    (isHardware) => new WordMachine(words, clock, { ...run, isHardware }),
  );
  const look = () =>
    machines.map((machine) => {
      machine.look();
      return machine.worldNs();
    });
  words.publishGridOrigin(instant(1_000_000_000));
  expect(look()).toEqual([instant(-Infinity), NO_WORLD]);
  words.publishWorldBeat(200);
  // Told when somebody looks, and not before.
  expect(machines.map((machine) => machine.worldNs())).toEqual([instant(-Infinity), NO_WORLD]);
  expect(look()).toEqual([instant(1_997_500_000), NO_WORLD]);
});
