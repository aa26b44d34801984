// The status line at every width, and where it may write: in place on a terminal, a line per change
// elsewhere, and nothing from a run's texts that could steer the terminal.

import { expect, test } from "bun:test";
import { BufferOut, exampleStatus } from "./fixture.ts";
import { StatusLine, statusReport, statusText } from "./status-line.ts";

const CLEAR = "\r\u001b[2K";

test("a wide terminal shows everything", () => {
  const status = { ...exampleStatus, warnings: ["no real-time priority"] };
  expect(statusText(status, 120)).toBe(
    "RUNNING ok  200.0 Hz  late 3 missed 4  pick_place 2/3  warnings 1  " +
      "Space stops, q ends the run",
  );
});

test.each([
  [64, "RUNNING ok  200.0 Hz  late 3 missed 4  pick_place 2/3  Space st…"],
  [62, "RUNNING ok  200.0 Hz  late 3 missed 4  pick_place 2/3"],
  [53, "RUNNING ok  200.0 Hz  late 3 missed 4  pick_place 2/3"],
  [40, "RUNNING ok  200.0 Hz  late 3 missed 4"],
  [20, "RUNNING ok  200.0 Hz"],
  [10, "RUNNING ok"],
  [8, "RUNNING…"],
  [1, "…"],
  [0, ""],
])("at %i columns it is cut to %p", (columnCount, expected) => {
  expect(statusText({ ...exampleStatus, hint: "Space stops" }, columnCount)).toBe(expected);
});

test("no width is ever exceeded, wide letters included", () => {
  const status = { ...exampleStatus, task: "ロボット", hint: "停止するにはスペース" };
  for (let columnCount = 0; columnCount < 120; columnCount += 1) {
    expect(Bun.stringWidth(statusText(status, columnCount))).toBeLessThanOrEqual(columnCount);
  }
});

test("on a terminal the line is rewritten in place, and notes go above it", () => {
  const out = new BufferOut();
  out.isTerminal = true;
  out.columnCount = 21;
  const line = new StatusLine(out);
  line.show(exampleStatus);
  line.note("page: x");
  line.show({ ...exampleStatus, mode: "SAFE_STOP", reason: "stop" });
  line.end();
  expect(out.text).toBe(
    `${CLEAR}RUNNING ok  200.0 Hz${CLEAR}page: x\n` +
      `RUNNING ok  200.0 Hz${CLEAR}SAFE_STOP stop${CLEAR}`,
  );
});

test("colour is for terminals that want it, and touches the mode only", () => {
  const out = new BufferOut();
  out.isTerminal = true;
  out.hasColour = true;
  out.columnCount = 21;
  new StatusLine(out).show(exampleStatus);
  expect(out.text).toBe(`${CLEAR}\u001b[32mRUNNING\u001b[0m ok  200.0 Hz`);
});

test("without a terminal a line is written only when mode or reason changed", () => {
  const out = new BufferOut();
  const line = new StatusLine(out);
  line.show(exampleStatus);
  line.show({ ...exampleStatus, tick: 2_200, sessionS: 11 });
  line.show({ ...exampleStatus, reason: "no_action", sessionS: 12 });
  line.end();
  expect(out.text).toBe(
    "10.0 s  RUNNING ok  Space stops, q ends the run\n" +
      "12.0 s  RUNNING no_action  Space stops, q ends the run\n",
  );
});

test("a warning is told once, whoever tells it first", () => {
  const out = new BufferOut();
  const line = new StatusLine(out);
  line.note("no real-time priority");
  line.show({ ...exampleStatus, warnings: ["no real-time priority", "memory is not locked"] });
  line.show({ ...exampleStatus, warnings: ["no real-time priority", "memory is not locked"] });
  expect(out.text).toBe(
    "no real-time priority\nmemory is not locked\n" +
      "10.0 s  RUNNING ok  Space stops, q ends the run\n",
  );
});

test("control characters of a run's texts never reach the terminal", () => {
  const status = { ...exampleStatus, hint: "a\u001b[2Jb\u0007", profile: "x\u009by" };
  const out = new BufferOut();
  const line = new StatusLine(out);
  line.show(status);
  line.note("a\u001b]0;title\u0007\nb");
  const written = out.text + statusText(status, 200) + statusReport(status, 1);
  expect(written.match(/[^\P{Cc}\n]/gu)).toBeNull();
});

test("a status for reading has every figure", () => {
  const status = { ...exampleStatus, faults: ["stale_state"], warnings: ["memory is not locked"] };
  expect(statusReport(status, 42)).toBe(
    [
      "run 42: so101, policy expert, streaming",
      "  mode      RUNNING, reason ok, epoch 2",
      "  time      10.0 s, tick 2000",
      "  rate      200.0 Hz of 200 asked, 3 late, 4 missed",
      "  wake-up   p50 12 us, p99 80 us; work p99 30 us; sample age p50 2.6 ms",
      "  task      pick_place, 2 of 3 episodes",
      "  faults    stale_state",
      "  warning   memory is not locked",
      "  joint                    measured  command  rad",
      "  pan                         0.250    0.300",
      "  lift                       -1.500   -1.400",
      "Space stops, q ends the run",
    ].join("\n"),
  );
});
