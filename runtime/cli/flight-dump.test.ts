// The dump of the last ticks: what stands in it, where it lies, and that only its owner may read
// it. Its folder is made when needed; a run without a latch leaves none.

import { expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { TickSlot, TickView, tickSlotCount } from "../contracts/tick-record.ts";
import { FlightRecorder } from "../core/flight-recorder.ts";
import { dumpFlight, flightFolder } from "./flight-dump.ts";
import { freshFolder } from "./fixture.ts";
import { runOptions } from "./run-command.ts";

test("dumps lie under XDG_STATE_HOME, or under its default", () => {
  expect(flightFolder({ XDG_STATE_HOME: "/state" })).toBe("/state/holdfast/flight");
  const usual = join(homedir(), ".local/state/holdfast/flight");
  const voided = [{}, { XDG_STATE_HOME: "" }, { XDG_STATE_HOME: "relative" }];
  expect(voided.map(flightFolder)).toEqual([usual, usual, usual]);
});

test("a dump says what ran and tells each kept tick in words, oldest first", () => {
  const folder = freshFolder();
  const options = runOptions("document-one", { seed: 7 });
  const recorder = new FlightRecorder(2, tickSlotCount(1));
  for (let tick = 3; tick < 6; tick += 1) {
    const record = new Float64Array(tickSlotCount(1));
    record[TickSlot.tick] = tick;
    record[TickSlot.reason] = 2;
    record[TickSlot.mode] = 5;
    record[TickSlot.kind] = 2;
    record[TickSlot.previousWorkNs] = tick * 1e6;
    record[TickSlot.sampledNs] = Number.POSITIVE_INFINITY;
    const view = new TickView(record, 1);
    view.asked[0] = 0.1;
    view.command[0] = 0.2;
    view.measured[0] = tick / 8;
    recorder.write(record);
  }
  const path = dumpFlight(join(folder, "new"), options, "latched", recorder);
  const [head, ...ticks] = readFileSync(path, "utf8").trimEnd().split("\n");
  expect(JSON.parse(head ?? "")).toMatchObject({
    why: "latched",
    profile: "document-one",
    seed: 7,
    joints: ["joint"],
    bun_version: Bun.version,
  });
  expect(ticks.map((line) => JSON.parse(line) as unknown)).toMatchObject(
    [4, 5].map((tick) => ({
      tick,
      reason: "stale_state",
      mode: "FAULT_LATCHED",
      kind: "hold",
      previous_work_ns: tick * 1e6,
      sampled_ns: null,
      asked: [0.1],
      command: [0.2],
      measured_rad: [tick / 8],
    })),
  );
  expect(path).toBe(join(folder, `new/flight-${process.pid}-5.jsonl`));
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readdirSync(join(folder, "new"))).toEqual([`flight-${process.pid}-5.jsonl`]);
  mkdirSync(join(folder, "full", `flight-${process.pid}-5.jsonl`), { recursive: true });
  expect(() => dumpFlight(join(folder, "full"), options, "latched", recorder)).toThrow("EISDIR");
  expect(readdirSync(join(folder, "full"))).toHaveLength(1);
});
