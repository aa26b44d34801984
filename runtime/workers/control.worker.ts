// The control thread: the tick at 200 Hz and nothing else. Everything it needs is made, and the
// optimizer is warm, before it says ready; after `go` it runs until the stop word rises.

import { commandFingerprint } from "../policy/adapter.ts";
import { anchoringOf } from "../policy/policy-kind.ts";
import { AliveMonitor } from "../core/alive.ts";
import { ControlCore } from "../core/core.ts";
import { StreamingPacer, STOPPED } from "../core/pacer.ts";
import { controlTick } from "../core/tick.ts";
import { instant } from "../contracts/units.ts";
import { ThreadSlot } from "../shm/control-words.ts";
import { aliveTable } from "./alive-table.ts";
import { CellEstopPort } from "./estop-port.ts";
import { layoutOf } from "./plan.ts";
import {
  CellActuator,
  CellPolicyPort,
  CellSensor,
  RingEvidenceSink,
  RingTickSink,
  WordAlive,
  WordCuePort,
  WordMachine,
  WordStop,
} from "./ports.ts";
import { SystemClock } from "./system-clock.ts";
import { attach, runWhenTold } from "./thread.ts";
import { warmUp } from "./warm-up.ts";

const CONTROL_PRIORITY = 80;
/** The first tick lies this many periods ahead, so that drivers can fall in with the grid. */
const LEAD_IN_PERIODS = 4;

const thread = attach();
const { plan, arena, words } = thread;
const { robot } = plan.run;
const layout = layoutOf(plan.run);
const stop = new WordStop(words);
const clock = new SystemClock(plan.origin, plan.run.spinTailNs, stop);
const alive = new AliveMonitor(aliveTable(robot, plan.run.isHardware), new WordAlive(words));
const estop = plan.run.estop === undefined ? undefined : new CellEstopPort(arena, alive);
const machine = new WordMachine(words, clock, plan.run);
const core = new ControlCore({
  profile: robot,
  layout,
  schemaFingerprint: commandFingerprint(robot),
  sensor: new CellSensor(arena, layout.sources),
  actuator: new CellActuator(arena),
  policy: new CellPolicyPort(arena, anchoringOf(robot, plan.run.policy)),
  cues: new WordCuePort(words),
  alive: estop ?? alive,
  ticks: new RingTickSink(arena),
  evidence: new RingEvidenceSink(arena),
  ...(estop !== undefined && { estop }),
  machine,
  deadlineIsFault: plan.run.isHardware,
});
warmUp(robot, layout);

runWhenTold(thread, ThreadSlot.control, "hf-control", CONTROL_PRIORITY, () => {
  const { periodNs } = robot;
  const beat = Math.floor(clock.nowNs() / periodNs) + LEAD_IN_PERIODS;
  const originNs = instant(beat * periodNs);
  words.publishGridOrigin(originNs);
  const pacer = new StreamingPacer(clock, stop, periodNs, originNs);
  core.prime(originNs);
  for (let nowNs = pacer.next(); nowNs !== STOPPED; nowNs = pacer.next()) {
    machine.look();
    core.timing.note(pacer.lateNs, pacer.missedTicks, pacer.workNs);
    controlTick(core, nowNs);
    words.publishTick(core.tick);
    words.beat(ThreadSlot.control);
  }
});
