// The text that a host's counts become, whole, for hostile names too; and what the counts are, by
// robot, over streams that end and streams that live.

import { expect, test } from "bun:test";
import { countWord, HostCounts, HostTally } from "../link/host-counts.ts";
import { metricsText } from "./host-metrics.ts";

const linesOf = (text: string, name: string): string[] =>
  text.split("\n").filter((line) => line.startsWith(`holdfast_host_${name}`));

function counted(robot: string, change: (counts: HostCounts) => void) {
  const counts = new HostCounts();
  change(counts);
  return { robot, counts };
}

test("each robot's counts are those of its streams, ended and living", () => {
  const tally = new HostTally();
  tally.end(
    counted("so101", (counts) => {
      counts.observationCount = 5;
      counts.forgottenCount = 2;
      counts.idleCount = 1;
      countWord(counts.receipts, "accepted", 3);
      countWord(counts.refusals, "fields");
      for (const ns of [1e6, 3e6, 2e6]) counts.decided(ns);
    }),
  );
  const live = counted("so101", (counts) => {
    counts.observationCount = 1;
    countWord(counts.receipts, "accepted");
    counts.decided(4e6);
  });
  const text = metricsText(tally.read([live, counted("ur5e", () => undefined)]));
  const so101 = text.split("\n").filter((line) => line.includes('robot="so101"'));
  expect(so101).toEqual([
    'holdfast_host_robots_connected{robot="so101"} 1',
    'holdfast_host_observations_total{robot="so101"} 6',
    'holdfast_host_observations_forgotten_total{robot="so101"} 2',
    'holdfast_host_decisions_total{robot="so101"} 4',
    'holdfast_host_no_decisions_total{robot="so101"} 1',
    'holdfast_host_refusals_total{robot="so101",field="fields"} 1',
    'holdfast_host_receipts_total{robot="so101",word="accepted"} 4',
    'holdfast_host_inference_seconds{robot="so101",quantile="0.5"} 0.002',
    'holdfast_host_inference_seconds{robot="so101",quantile="0.9"} 0.004',
    'holdfast_host_inference_seconds{robot="so101",quantile="0.99"} 0.004',
    'holdfast_host_inference_seconds_sum{robot="so101"} 0.01',
    'holdfast_host_inference_seconds_count{robot="so101"} 4',
  ]);
  expect(linesOf(text, "robots_connected")).toHaveLength(2);
  expect(text).toContain('inference_seconds{robot="ur5e",quantile="0.5"} NaN\n');
  expect(text.match(/^# TYPE /gm)).toHaveLength(8);
});

test("what a robot calls itself cannot break a line", () => {
  const text = metricsText(new HostTally().read([counted('a"}\n\\', () => undefined)]));
  expect(linesOf(text, "observations_total")).toEqual([
    'holdfast_host_observations_total{robot="a\\"}\\n\\\\"} 0',
  ]);
});

test("words without end are kept up to a limit", () => {
  const counts = new HostCounts();
  for (let index = 0; index < 1_000; index += 1) countWord(counts.receipts, `word ${index}`);
  countWord(counts.receipts, "x".repeat(65));
  expect(counts.receipts.size).toBe(65);
  expect(counts.receipts.get("other")).toBe(1_000 - 64 + 1);
  const tally = new HostTally();
  for (let index = 0; index < 1_000; index += 1) {
    tally.end(counted(`robot ${index}`, (each) => each.decided(1)));
  }
  const all = tally.read([]);
  expect(all.size).toBe(65);
  expect(all.get("other")?.counts.decisionCount).toBe(1_000 - 64);
});

test("quantiles are of the newest decisions", () => {
  const counts = new HostCounts();
  for (let index = 0; index < 3_000; index += 1) counts.decided(index < 1_900 ? 1 : 7);
  expect([counts.inferenceNs(0.5), counts.inferenceNs(0.01)]).toEqual([7, 7]);
});
