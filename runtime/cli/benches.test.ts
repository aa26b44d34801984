// `holdfast bench gate` and `bench link` as a user starts them: figures come out whole and in
// order. What a figure means is tested on made-up ones; nothing here judges how fast this machine
// is.

import { expect, test } from "bun:test";
import { formatGate } from "./bench-gate.ts";
import type { GateFigure } from "./bench-gate.ts";
import { formatLink } from "./bench-link.ts";
import type { LinkFigures } from "./bench-link.ts";
import { BENCH_HORIZON, BENCH_JOINTS, ECHO_REPLY_SIZE_BYTES } from "./bench-link-host.ts";

const MAIN = new URL("../main.ts", import.meta.url).pathname;

async function bench(name: string): Promise<unknown> {
  const child = Bun.spawn([process.execPath, MAIN, "bench", name, "--json"], { stderr: "inherit" });
  const text = await new Response(child.stdout).text();
  expect(await child.exited).toBe(0);
  return JSON.parse(text);
}

test("bench gate gives three cases, each with percentiles in order", async () => {
  const figure = (await bench("gate")) as GateFigure;
  expect(figure.cases.map(({ name }) => name)).toEqual(["smooth", "hostile", "hostile, reduced"]);
  for (const { meanNs, p50Ns, p99Ns } of figure.cases) {
    expect(meanNs).toBeGreaterThan(0);
    expect(p99Ns).toBeGreaterThanOrEqual(p50Ns);
  }
  expect(figure.met).toBe(figure.cases[0]!.p99Ns <= 2_000);
});

test("bench link asks another process, beside a bare stream of as many bytes", async () => {
  const figures = (await bench("link")) as LinkFigures;
  for (const { p50, p99 } of [
    figures.small_rtt_us,
    figures.bare_echo_rtt_us,
    figures.image_rtt_us,
    figures.jpeg_rtt_us,
  ]) {
    expect(p50).toBeGreaterThan(0);
    expect(p99).toBeGreaterThanOrEqual(p50);
  }
  const over = figures.small_rtt_us.p50 - figures.bare_echo_rtt_us.p50;
  expect(figures.overhead_us_p50).toBe(over);
  expect(ECHO_REPLY_SIZE_BYTES).toBe(BENCH_HORIZON * BENCH_JOINTS.length * 4);
});

test("a missed goal reads as missed", () => {
  const cases = [{ name: "smooth", meanNs: 1_234, p50Ns: 1_000, p99Ns: 2_001 }];
  const gate = { bench: "gate", robot: "so101", goal: "at most 2 µs", met: false, cases } as const;
  expect(formatGate(gate)).toContain("1.23    1.00    2.00");
  expect(formatGate(gate)).toContain("goal at most 2 µs: missed");
  expect(formatGate({ ...gate, met: true })).toContain("goal at most 2 µs: met");

  const us = { p50: 400, p99: 900 };
  const link = {
    small_rtt_us: us,
    bare_echo_rtt_us: us,
    image_rtt_us: us,
    jpeg_rtt_us: us,
    overhead_us_p50: 301,
  };
  expect(formatLink({ ...link, met: false })).toContain("301 µs; goals: at most 300 µs over it");
  expect(formatLink({ ...link, met: false })).toEndWith("missed");
  expect(formatLink({ ...link, met: true })).toEndWith("met");
});
