// Resets and starts, judged: the answer to each in words, and, under every fault, that a reset
// which is handed on is heard by the supervisor, and that it would not have heard a refused one.

import { expect, test } from "bun:test";
import { Mode, OperatorCue } from "../contracts/mode.ts";
import { Reason } from "../contracts/reason.ts";
import { instant } from "../contracts/units.ts";
import { loadRobot } from "../profile/load.ts";
import { Fault, faultOfReason, faultRows } from "../../safety/faults.ts";
import { Supervisor } from "../../safety/supervisor.ts";
import { handedOnText, refusalOf } from "./cue-answer.ts";

const robot = loadRobot("so101");
const { Park, Reset, Start, Stop } = OperatorCue;
const held = { parkNs: undefined, isParking: false };
const facts = { mode: Mode.SafeStop as number, faultBits: 0, waitingCueBits: 0 };
const bit = (fault: Fault): number => 1 << fault;

test.each([
  [Start, { mode: Mode.SafeStop }, "start ignored in SAFE_STOP: reset first"],
  [Start, { mode: Mode.FaultLatched }, "start ignored in FAULT_LATCHED: reset first"],
  [
    Start,
    { waitingCueBits: 1 << Reset },
    "start ignored in SAFE_STOP: its reset is still on the way, ask again",
  ],
  [Start, { mode: Mode.Running }, "nothing to start: already RUNNING"],
  [Start, { mode: Mode.Degraded }, "nothing to start: already DEGRADED"],
  [Start, { mode: Mode.Recover }, undefined],
  [Start, { mode: Mode.Starting }, undefined],
  [Reset, { mode: Mode.Running }, "nothing to reset in RUNNING"],
  [Reset, { mode: Mode.Recover }, "nothing to reset in RECOVER"],
  [Reset, {}, undefined],
  [Reset, { faultBits: bit(Fault.OperatorStop) | bit(Fault.NoAction) }, undefined],
  [Reset, { faultBits: bit(Fault.StaleState) }, "reset refused: stale_state is still there"],
  [
    Reset,
    { mode: Mode.FaultLatched, faultBits: bit(Fault.StaleState) | bit(Fault.ControlLate) },
    "reset refused: stale_state, control_late are still there",
  ],
  [
    Reset,
    { mode: Mode.FaultLatched, faultBits: bit(Fault.DriverLost) },
    "reset refused: driver_lost needs a new run",
  ],
  [Stop, { mode: Mode.SafeStop, faultBits: bit(Fault.StaleState) }, undefined],
])("cue %i at %j: %s", (cue, parts, text) => {
  expect(refusalOf(cue, { ...facts, ...parts })).toBe(text);
});

test("a cue that was handed on says what follows", () => {
  expect([
    handedOnText(Stop, Mode.Running, held),
    handedOnText(Reset, Mode.SafeStop, held),
    handedOnText(Start, Mode.Recover, held),
    handedOnText(Park, Mode.Running, held),
    handedOnText(Park, Mode.Running, { parkNs: 5e9, isParking: false }),
    handedOnText(Stop, Mode.SafeStop, { parkNs: 5e9, isParking: true }),
  ]).toEqual([
    "stop asked in RUNNING",
    "reset asked in SAFE_STOP: nothing moves until a start",
    "start asked in RECOVER",
    "stop asked in RUNNING: this robot is not parked, it holds",
    "park asked in RUNNING: to its rest pose, then it lets go, within 5 s",
    "stop asked while it is parked: it lets go at once, what it holds up falls",
  ]);
});

/** A supervisor that a person has stopped, in which `fault` is active now. */
function stoppedUnder(fault: Fault): { supervisor: Supervisor; step: () => void } {
  const supervisor = new Supervisor(robot);
  const reason = faultOfReason.indexOf(fault);
  let tick = 0;
  const step = (now: Reason = Reason.Ok): void => {
    tick += 1;
    if (tick > 3 && reason < 0) supervisor.raise(fault);
    supervisor.step(now, 0, instant(tick * 5e6));
  };
  supervisor.cue(Start, instant(0));
  step();
  supervisor.cue(Stop, instant(tick * 5e6));
  step(Reason.Stop);
  const faulty = (): void => step(reason < 0 ? Reason.Ok : (reason as Reason));
  faulty();
  faulty();
  return { supervisor, step: faulty };
}

test.each(faultRows.map((row) => [row.name, row.fault] as const))(
  "under %s the supervisor hears a reset exactly when it is handed on",
  (_, fault) => {
    const { supervisor, step } = stoppedUnder(fault);
    const { mode, activeFaults } = supervisor;
    const refusal = refusalOf(Reset, { mode, faultBits: activeFaults, waitingCueBits: 0 });
    supervisor.cue(Reset, instant(1e9));
    step();
    expect(supervisor.refusedResets === 0).toBe(refusal === undefined);
  },
);
