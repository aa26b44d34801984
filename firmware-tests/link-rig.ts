// LinkRig: the real core over a kinematic robot at 200 Hz of wall time, its policy on a real host
// behind a proxy, for tests of how a link dies. It keeps every tick, when the link was seen to be
// lost and ready, and how late it was itself: what the machine did to it is not the link's doing.

import type { Subprocess } from "bun";
import { credentials } from "@grpc/grpc-js";
import { KinematicRobot } from "../hal/kinematic-robot.ts";
import { CommandKind } from "../runtime/contracts/command.ts";
import { Evidence } from "../runtime/contracts/evidence.ts";
import { OperatorCue } from "../runtime/contracts/mode.ts";
import type { Mode } from "../runtime/contracts/mode.ts";
import type { RobotProfile } from "../runtime/contracts/profile.ts";
import { SeededRandom } from "../runtime/contracts/seeded-random.ts";
import { StateLayout } from "../runtime/contracts/state.ts";
import { TickSlot } from "../runtime/contracts/tick-record.ts";
import { duration, instant } from "../runtime/contracts/units.ts";
import { ControlCore } from "../runtime/core/core.ts";
import { EvidenceLog } from "../runtime/core/evidence-log.ts";
import { controlTick } from "../runtime/core/tick.ts";
import { openRemotePolicy } from "../runtime/link/grpc-remote.ts";
import { FaultProxy } from "../runtime/link/grpc-fault-proxy.ts";
import type { RemotePolicy } from "../runtime/link/remote-policy.ts";
import { ActionAdapter, commandFingerprint } from "../runtime/policy/adapter.ts";
import { LockstepPolicyPort } from "../runtime/policy/lockstep-port.ts";
import { anchoringOf } from "../runtime/policy/policy-kind.ts";
import { PolicyRunner } from "../runtime/policy/runner.ts";
import { loadRobot, loadTask } from "../runtime/profile/load.ts";
import { ALL_ALIVE } from "../runtime/record/input-log.ts";
import { sessionOrigin, SystemClock } from "../runtime/workers/system-clock.ts";
import { MAIN } from "./process.ts";

const so101 = loadRobot("so101");
const none = loadTask("none");
const clock = new SystemClock(sessionOrigin(), duration(0), { stopped: false });

/** A TCP port of this machine: one that the kernel gave out a moment ago. */
function freePort(): number {
  const socket = { data: () => undefined };
  const probe = Bun.listen({ hostname: "127.0.0.1", port: 0, socket });
  probe.stop(true);
  return probe.port;
}

type HostChild = Subprocess<"ignore", "pipe", "ignore">;
const children = new Set<HostChild>();

async function endChild(child: HostChild, signal: NodeJS.Signals): Promise<void> {
  child.kill(signal);
  await child.exited;
  children.delete(child);
}

/** For `afterEach`: a case that failed leaves no host running that loads the next one's machine. */
export async function killHosts(): Promise<void> {
  await Promise.all([...children].map((child) => endChild(child, "SIGKILL")));
}

/** Chance of a line that loses a tenth: what was lost comes by the whole jitter later. */
class TenthLost extends SeededRandom {
  override next(): number {
    return super.next() < 0.1 ? 1 : 0;
  }
}

/** A policy host as a process of its own, on any free port. */
export class HostProcess {
  readonly port: number;
  readonly child: HostChild;
  /** Where its counts are served; undefined where they are not. */
  metricsPort: number | undefined;

  private constructor(child: HostChild, port: number) {
    this.child = child;
    this.port = port;
  }

  /** One that serves what it counts. */
  static async startCounting(args: readonly string[]): Promise<HostProcess> {
    const metricsPort = freePort();
    const host = await HostProcess.start([...args, "--metrics", `${metricsPort}`]);
    host.metricsPort = metricsPort;
    return host;
  }

  static async start(args: readonly string[], port = 0): Promise<HostProcess> {
    const listen = ["--listen", `127.0.0.1:${port}`];
    const child = Bun.spawn([process.execPath, MAIN, "host", ...listen, ...args], {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "ignore",
    });
    children.add(child);
    let text = "";
    for await (const bytes of child.stdout) {
      text += new TextDecoder().decode(bytes);
      const found = /on 127\.0\.0\.1:(\d+)/.exec(text)?.[1];
      if (found !== undefined) return new HostProcess(child, Number(found));
    }
    throw new Error(`Cannot start a policy host: ${text}`);
  }

  kill(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    return endChild(this.child, signal);
  }
}

type Target = { readonly host: string; port: number };

export class LinkRig {
  readonly proxy: FaultProxy;
  readonly evidence = new EvidenceLog();
  readonly records: Float64Array[] = [];
  readonly core: ControlCore;
  readonly policy: RemotePolicy;
  /** How long the rig itself was held up, all together, since `beginTiming`. */
  awayNs = 0;
  /** And at one go, since `forget`. */
  longestAwayNs = 0;
  readonly #cues: OperatorCue[] = [OperatorCue.Start];
  #lastNs: number;

  readonly #robot: RobotProfile;
  /** Where new lines of the proxy lead. */
  readonly #to: Target;

  private constructor(proxy: FaultProxy, to: Target, policy: RemotePolicy, robot: RobotProfile) {
    this.proxy = proxy;
    this.#to = to;
    this.policy = policy;
    this.#robot = robot;
    const layout = new StateLayout(robot, robot.sources, "");
    const runner = new PolicyRunner({
      policy,
      adapter: new ActionAdapter(policy.schema, robot),
      layout,
      everyTicks: robot.controlHz / robot.policy.hz,
      requires: [],
      qualityRatioMin: robot.state.qualityRatioMin,
    });
    const body = new KinematicRobot(robot, robot.sources, {
      ageNs: duration(1e6),
      lagNs: duration(0),
    });
    body.activate(clock.nowNs());
    this.core = new ControlCore({
      profile: robot,
      layout,
      schemaFingerprint: commandFingerprint(robot),
      sensor: body,
      actuator: body,
      policy: new LockstepPolicyPort(runner, anchoringOf(robot, "grpc://host")),
      cues: { takeCue: () => this.#cues.shift() ?? OperatorCue.None },
      alive: ALL_ALIVE,
      ticks: { write: (record) => this.records.push(record.slice()) },
      evidence: this.evidence,
      deadlineIsFault: false,
    });
    this.#lastNs = clock.nowNs();
    this.core.look(instant(this.#lastNs - 1e7));
    this.core.look(instant(this.#lastNs - 5e6));
    this.core.prime(instant(this.#lastNs));
  }

  /** Connects through a proxy of its own and waits until the host is ready. */
  static async open(port: number, robot: RobotProfile = so101): Promise<LinkRig> {
    const to = { host: "127.0.0.1", port };
    const parts = { random: new TenthLost(1), nowNs: () => clock.nowNs() };
    const proxy = await FaultProxy.open({ host: "127.0.0.1", port: 0 }, to, parts);
    const layout = new StateLayout(robot, robot.sources, "");
    const opening = openRemotePolicy({
      target: `127.0.0.1:${proxy.port}`,
      credentials: credentials.createInsecure(),
      tlsName: undefined,
      facts: {
        robot,
        task: none,
        layout,
        manifestSha256: new Uint8Array(0),
        runtimeVersions: {},
      },
      nowNs: () => clock.nowNs(),
      pictures: undefined,
      waitsForEver: false,
      seed: 1,
      note: () => undefined,
    });
    try {
      return new LinkRig(proxy, to, await opening, robot);
    } catch (error) {
      proxy.close();
      throw error;
    }
  }

  get nowNs(): number {
    return clock.nowNs();
  }

  get mode(): Mode {
    return this.core.supervisor.mode as Mode;
  }

  /** Chunks that the buffer took. */
  get acceptedCount(): number {
    return this.evidence.counts[Evidence.Accepted]!;
  }

  /** Lines that the link makes from here on end at another port of this machine. */
  leadTo(port: number): void {
    this.#to.port = port;
  }

  press(cue: OperatorCue): void {
    this.#cues.push(cue);
  }

  /** From here on `awayNs` counts anew, and not from the last tick: nobody need have ticked. */
  beginTiming(): void {
    this.awayNs = 0;
    this.#lastNs = clock.nowNs();
  }

  forget(): void {
    this.beginTiming();
    this.longestAwayNs = 0;
    this.records.length = 0;
  }

  /** Ticks at 200 Hz until `holds`, `ms` at most; when it held, ns, or NaN. */
  async until(holds: () => boolean, ms: number): Promise<number> {
    const { periodNs } = this.#robot;
    const endNs = clock.nowNs() + ms * 1e6;
    while (clock.nowNs() < endNs) {
      const nowNs = clock.nowNs();
      const goneNs = Math.max(0, nowNs - this.#lastNs - periodNs);
      this.awayNs += goneNs;
      this.longestAwayNs = Math.max(this.longestAwayNs, goneNs);
      this.#lastNs = nowNs;
      controlTick(this.core, nowNs);
      if (holds()) return nowNs;
      await Bun.sleep(Math.max(0, periodNs / 1e6 - (clock.nowNs() - nowNs) / 1e6));
    }
    return Number.NaN;
  }

  run(ms: number): Promise<number> {
    return this.until(() => false, ms);
  }

  /** Ticks since `forget` in which the robot moved. */
  get motionCount(): number {
    return this.records.filter((record) => record[TickSlot.kind] === CommandKind.Motion).length;
  }

  close(): void {
    this.policy.close();
    this.proxy.close();
  }
}

/** Why a tick that moved should not have: the decision it followed was stale. Empty: it was not. */
export function staleMotion(records: readonly Float64Array[], windowNs: number): string {
  for (const record of records) {
    if (record[TickSlot.kind] !== CommandKind.Motion) continue;
    const ageNs = record[TickSlot.nowNs]! - record[TickSlot.actStartNs]!;
    if (ageNs > windowNs) return `moved on a decision ${(ageNs / 1e6).toFixed(0)} ms old`;
  }
  return "";
}

export const WINDOW_NS = so101.policy.horizon * so101.policy.dtNs;
