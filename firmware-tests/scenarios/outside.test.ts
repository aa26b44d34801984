// What happens around the core while it runs: the operator's page goes away, a stop comes from a
// caller that is gone before its answer, and decisions that stay away for a robot that may coast.

import { expect, test } from "bun:test";
import { CommandKind, RepairBit } from "../../runtime/contracts/command.ts";
import { Mode, OperatorCue } from "../../runtime/contracts/mode.ts";
import { TickSlot } from "../../runtime/contracts/tick-record.ts";
import type { RunHandle, RunStatus } from "../../runtime/cli/run-handle.ts";
import { ConsoleServer } from "../../runtime/console/server.ts";
import { PARK_WITHIN_MS } from "./losses.ts";
import { LossCell, PERIOD_NS, PHASE_COUNT, TROUBLE_NS } from "./loss-cell.ts";

const EVERY = Array.from({ length: PHASE_COUNT }, (_, phaseIndex) => phaseIndex);
const healthy = (): LossCell => new LossCell({ phaseIndex: 0, lengthNs: 0 }).runUntil(TROUBLE_NS);

/** A run's handle over a cell: its stop reaches the core as an operator's does. */
class CellHandle implements RunHandle {
  readonly stopped: Promise<void>;
  readonly #cell: LossCell;
  #tell: () => void = () => undefined;

  constructor(cell: LossCell) {
    this.#cell = cell;
    this.stopped = new Promise((resolve) => {
      this.#tell = resolve;
    });
  }

  status(): RunStatus {
    return { tick: this.#cell.core.tick } as RunStatus; // the page's own tests know the rest
  }
  stop() {
    this.#cell.cues.push(OperatorCue.Stop);
    this.#tell();
    return { accepted: true, text: "stopped" };
  }
  reset = this.stop;
  start = this.stop;
  estop = this.stop;
  arm = this.stop;
  prooftest = this.stop;
  park = this.stop;
  readonly parks = false;
  letGo(): boolean {
    return false;
  }
  quit(): void {
    this.#tell();
  }
  frame(): Promise<Uint8Array | undefined> {
    return Promise.resolve(undefined);
  }
}

/** A raw request whose caller closes the line at once and hears no answer. */
async function sendAndLeave(server: ConsoleServer, request: string): Promise<void> {
  const port = Number(new URL(server.url).port);
  const socket = await Bun.connect({
    hostname: "127.0.0.1",
    port,
    socket: { data: () => undefined },
  });
  socket.write(request.replace("HOST", `127.0.0.1:${port}`));
  socket.flush();
  socket.end();
}

test("an operator's page that goes away changes nothing, and a stop has other ways", async () => {
  const cell = healthy();
  const server = ConsoleServer.open(new CellHandle(cell), 0)!;
  try {
    const status = await fetch(new URL("/status.json", server.url));
    expect(await status.json()).toEqual({ tick: cell.core.tick });
    await sendAndLeave(server, "GET /status.json HTTP/1.1\r\nHost: HOST\r\n"); // never finished
    const from = cell.sent.length;
    for (let ms = 0; ms < 1_000; ms += 5) {
      cell.runFor(5);
      await new Promise((resolve) => setImmediate(resolve)); // the server's turn
    }
    expect((await fetch(new URL("/status.json", server.url))).status).toBe(200);
    const kinds = new Set(cell.sent.slice(from).map(({ command }) => command.kind));
    expect([...kinds]).toEqual([CommandKind.Motion]);
    cell.cues.push(OperatorCue.Stop);
    cell.runFor(5);
    expect(cell.sent.at(-1)!.command.kind).toBe(CommandKind.Hold);
  } finally {
    server.close();
  }
});

test("B63: a stop acts though its caller is gone before the answer", async () => {
  const cell = healthy();
  const handle = new CellHandle(cell);
  const server = ConsoleServer.open(handle, 0)!;
  try {
    await sendAndLeave(server, "POST /stop HTTP/1.1\r\nHost: HOST\r\nContent-Length: 0\r\n\r\n");
    await handle.stopped;
    cell.runFor(5);
    expect(cell.sent.at(-1)!.command.kind).toBe(CommandKind.Hold);
    expect(cell.core.supervisor.mode).toBe(Mode.SafeStop);
  } finally {
    server.close();
  }
});

test("parking begins in the next tick, at every phase", () => {
  const withinMs = EVERY.map((phaseIndex) => {
    const provoke = { by: "cue", cue: OperatorCue.Park } as const;
    const cell = new LossCell({ provoke, phaseIndex, lengthNs: Infinity });
    cell.runUntil(TROUBLE_NS + 10 * PERIOD_NS);
    const brake = cell.sent.find(({ nowNs, command }) => {
      return nowNs >= TROUBLE_NS && command.kind === CommandKind.Brake;
    });
    return (brake!.nowNs - cell.causeNs) / 1e6;
  });
  expect(Math.max(...withinMs)).toBeCloseTo(PARK_WITHIN_MS, 6);
});

test("without decisions a robot that may coast does so for four ticks at most, then brakes", () => {
  const change = (robot: LossCell["robot"]): LossCell["robot"] => ({
    ...robot,
    supervisor: { ...robot.supervisor, coastTicks: 4 },
  });
  for (const phaseIndex of EVERY) {
    const provoke = { by: "policy", trouble: "silent" } as const;
    const cell = new LossCell({ provoke, phaseIndex, lengthNs: Infinity, change });
    cell.runUntil(TROUBLE_NS + 600e6);
    const gap = cell.records.filter((record) => record[TickSlot.nowNs]! >= cell.policy.goodUntilNs);
    const coasts = gap.map((record) => (record[TickSlot.repairs]! & RepairBit.Coast) !== 0);
    expect(coasts.indexOf(false)).toBe(4);
    expect(coasts.lastIndexOf(true)).toBe(3);
    const values = cell.sent.slice(-gap.length).map(({ command }) => command.values[0]!);
    // After them it sheds speed in every tick until it stands, within the 23 ticks of a full stop.
    const speeds = values.map((value, at) => Math.abs(value - (values[at - 1] ?? value)));
    const rest = speeds.findIndex((speed, at) => at > 4 && speed === 0);
    expect(rest).toBeLessThanOrEqual(4 + 23);
    for (let at = 6; at < rest; at += 1) expect(speeds[at]!).toBeLessThan(speeds[at - 1]!);
    expect(speeds.slice(rest).every((speed) => speed === 0)).toBe(true);
    expect(gap[0]![TickSlot.nowNs]! - cell.policy.goodUntilNs).toBeLessThan(PERIOD_NS);
  }
});
