// The status line at every width, and where it may write: in place on a terminal, a line per change
// elsewhere, and nothing from a run's texts that could steer the terminal.

import { expect, test } from "bun:test";
import { BufferOut, exampleStatus } from "./fixture.ts";
import { commandWords, keyWords } from "./hint.ts";
import type { RunStatus } from "./run-handle.ts";
import { StatusLine, statusReport, statusText } from "./status-line.ts";

const CLEAR = "\r\u001b[2K";

test("a wide terminal shows everything", () => {
  const status = { ...exampleStatus, warnings: ["no real-time priority"] };
  expect(statusText(status, keyWords, 120)).toBe(
    "RUNNING  Follows expert: space stops, q quits  pick_place 2/3  200.0 Hz  " +
      "late 3 missed 4  warnings 1",
  );
});

test.each([
  [66, "RUNNING  Follows it: space stops, q quits  pick_place 2/3"],
  [67, "RUNNING  Follows it: space stops, q quits  pick_place 2/3  200.0 Hz"],
  [57, "RUNNING  Follows it: space stops, q quits  pick_place 2/3"],
  [56, "RUNNING  Follows it: space stops, q quits"],
  [41, "RUNNING  Follows it: space stops, q quits"],
  [40, "RUNNING  Follows it: space stops, q qui…"],
  [12, "RUNNING  Fo…"],
  [8, "RUNNING…"],
  [1, "…"],
  [0, ""],
])("at %i columns counters go first, then the end of the hint: %p", (columnCount, expected) => {
  expect(statusText({ ...exampleStatus, hint: "Follows it" }, keyWords, columnCount)).toBe(
    expected,
  );
});

test("no width is ever exceeded, wide letters included", () => {
  const status = { ...exampleStatus, task: "ロボット", hint: "停止するにはスペース" };
  for (let columnCount = 0; columnCount < 120; columnCount += 1) {
    expect(Bun.stringWidth(statusText(status, keyWords, columnCount))).toBeLessThanOrEqual(
      columnCount,
    );
  }
});

function terminal(columnCount: number): BufferOut {
  const out = new BufferOut();
  out.isTerminal = true;
  out.columnCount = columnCount;
  return out;
}

test("on a terminal the line is rewritten in place, and notes go above it", () => {
  const out = terminal(18);
  const line = new StatusLine(out, keyWords);
  line.show(exampleStatus);
  line.note("page: x");
  line.show({ ...exampleStatus, mode: "SAFE_STOP", hint: "Stopped", acts: [] });
  line.end();
  expect(out.text).toBe(
    `${CLEAR}RUNNING  Follows…${CLEAR}page: x\n` +
      `RUNNING  Follows…${CLEAR}SAFE_STOP  Stopp…${CLEAR}`,
  );
});

test("a terminal made narrower has broken the line into rows, which are all taken away", () => {
  const out = terminal(42);
  const line = new StatusLine(out, keyWords);
  line.show({ ...exampleStatus, hint: "Follows it" }); // 41 cells
  out.columnCount = 20;
  out.text = "";
  line.note("x");
  expect(out.text).toStartWith("\u001b[2A\r\u001b[Jx\n");
});

test("colour is for terminals that want it, and touches the mode only", () => {
  const out = terminal(18);
  out.hasColour = true;
  new StatusLine(out, keyWords).show(exampleStatus);
  expect(out.text).toBe(`${CLEAR}\u001b[32mRUNNING\u001b[0m  Follows…`);
});

test("without a terminal a line is written when a person is waited for, in commands", () => {
  const out = new BufferOut();
  const line = new StatusLine(out, commandWords("scripts/run", 42));
  const stopped = { ...exampleStatus, mode: "SAFE_STOP", acts: ["reset", "start"] as const };
  line.show(exampleStatus);
  line.show({ ...stopped, hint: "Stopped by stale_state at 3.02 s; still there", sessionS: 11 });
  line.show({ ...stopped, hint: "Stopped by stale_state at 3.02 s; still there", sessionS: 12 });
  line.show({ ...stopped, hint: "Stopped by stale_state at 3.02 s; cleared", sessionS: 13 });
  line.show({ ...exampleStatus, mode: "FAULT_LATCHED", hint: "Latched", acts: ["quit"] });
  line.end();
  expect(out.text).toBe(
    "11.000 s  SAFE_STOP  Stopped by stale_state at 3.02 s; still there: " +
      "scripts/run reset, then scripts/run start\n" +
      "13.000 s  SAFE_STOP  Stopped by stale_state at 3.02 s; cleared: " +
      "scripts/run reset, then scripts/run start\n" +
      "10.040 s  FAULT_LATCHED  Latched: kill 42 ends the run\n",
  );
});

test("a warning is told once, whoever tells it first", () => {
  const out = new BufferOut();
  const line = new StatusLine(out, keyWords);
  line.note("no real-time priority");
  line.show({ ...exampleStatus, warnings: ["no real-time priority", "memory is not locked"] });
  line.show({ ...exampleStatus, warnings: ["no real-time priority", "memory is not locked"] });
  expect(out.text).toBe("no real-time priority\nmemory is not locked\n");
});

test("control characters of a run's texts never reach the terminal", () => {
  const status = { ...exampleStatus, hint: "a\u001b[2Jb\u0007", profile: "x\u009by" };
  const out = new BufferOut();
  const line = new StatusLine(out, keyWords);
  line.show(status);
  line.note("a\u001b]0;title\u0007\nb");
  const written = out.text + statusText(status, keyWords, 200) + statusReport(status, 1, "x");
  expect(written.match(/[^\P{Cc}\n]/gu)).toBeNull();
  expect(out.text).toBe("a ]0;title b\n"); // one note, one line
});

test("a status for reading has every figure", () => {
  const status: RunStatus = {
    ...exampleStatus,
    mode: "SAFE_STOP",
    cause: "no_action: 12 chunks rejected_not_finite",
    causeS: 3.021,
    hint: "Stopped",
    acts: ["reset", "start"],
    measuredRad: [0.25, -0.0004],
    faults: ["stale_state"],
    warnings: ["memory is not locked"],
  };
  expect(statusReport(status, 42, "dist/holdfast")).toBe(
    [
      "run 42: so101, policy expert, streaming",
      "  mode      SAFE_STOP, reason ok, epoch 2",
      "  stopped   by no_action: 12 chunks rejected_not_finite, at 3.02 s",
      "  time      10.0 s, tick 2000",
      "  rate      200.0 Hz of 200 asked, 3 ticks late, 4 beats missed",
      "  wake-up   p50 12 µs, p99 80 µs; work p99 30 µs; sample age p50 2.6 ms",
      "  task      pick_place, 2 of 3 episodes, 1 under way",
      "  faults    stale_state",
      "  e-stop    emulated: ARMED",
      "  warning   memory is not locked",
      "  joint                    measured  command  rad",
      "  pan                         0.250    0.300",
      "  lift                        0.000   -1.400",
      "Stopped: dist/holdfast reset, then dist/holdfast start",
    ].join("\n"),
  );
});
