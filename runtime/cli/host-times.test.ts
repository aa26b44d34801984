// What a policy host says of its time: in words, as JSON, and nowhere without a host. Quantiles are
// those of numbers that a person can count.

import { expect, test } from "bun:test";
import { HOST_TIMES_SLOT_COUNT, HostTimesSlot } from "../contracts/host-times.ts";
import { Mode } from "../contracts/mode.ts";
import { HostTimes } from "../link/host-times.ts";
import { exampleReport, exampleStatus } from "./fixture.ts";
import { hostTimesJson, hostTimesText } from "./host-times.ts";
import { formatReport, jsonReport } from "./report.ts";
import { runOptions } from "./run-command.ts";
import { statusReport } from "./status-line.ts";

const none = new Float64Array(HOST_TIMES_SLOT_COUNT);
const some = new Float64Array(HOST_TIMES_SLOT_COUNT);
some[HostTimesSlot.answerCount] = 12;
some[HostTimesSlot.inferenceNsP50] = 31_200_000;
some[HostTimesSlot.inferenceNsP99] = 48_000_000;
some[HostTimesSlot.queueNsP50] = 4_000;
some[HostTimesSlot.queueNsP99] = 950_000;
some[HostTimesSlot.roundTripNs] = 2_340_000;
const TEXT = "inference p50 31.2 ms, p99 48.0 ms; queue p50 0.0 ms, p99 0.9 ms; round trip 2.3 ms";

test("a run with a policy host tells it in report, JSON and status", () => {
  const plain = exampleReport(runOptions("so101", {}), Mode.Running);
  const report = { ...plain, hostTimes: some };
  expect(hostTimesText(some)).toBe(TEXT);
  expect(formatReport(report, "again").split("\n")).toContain(`  policy host    ${TEXT}`);
  expect(jsonReport(report)["policy_host"]).toEqual({
    answers: 12,
    inference_us: { p50: 31_200, p99: 48_000 },
    queue_us: { p50: 4, p99: 950 },
    round_trip_us: 2_340,
  });
  const status = { ...exampleStatus, policyHost: TEXT };
  expect(statusReport(status, 1, "holdfast").split("\n")).toContain(`  host      ${TEXT}`);
});

test("a run without one says nothing of it", () => {
  const plain = exampleReport(runOptions("so101", {}), Mode.Running);
  expect([hostTimesText(none), hostTimesJson(none)]).toEqual(["", null]);
  expect(formatReport(plain, "again")).not.toContain("policy host");
  expect(jsonReport(plain)["policy_host"]).toBeNull();
  expect(statusReport(exampleStatus, 1, "holdfast")).not.toContain("  host ");
});

test("quantiles are of the newest answers, and what a host says is an hour at most", () => {
  const times = new HostTimes();
  expect(times.read(undefined)).toEqual(none);
  const answered = (inferenceNs: number): void => {
    times.answered({ inferenceNs: BigInt(inferenceNs), queueNs: 2n ** 64n - 1n });
  };
  for (let answer = 1; answer <= 100; answer += 1) answered(answer * 1_000);
  const HOUR_NS = 3_600e9;
  expect([...times.read(7_000)]).toEqual([100, 50_000, 99_000, HOUR_NS, HOUR_NS, 7_000]);
  for (let answer = 0; answer < 256; answer += 1) answered(5);
  expect([...times.read(undefined)]).toEqual([356, 5, 5, HOUR_NS, HOUR_NS, 7_000]);
});
