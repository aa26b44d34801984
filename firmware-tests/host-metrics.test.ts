// `holdfast host --metrics PORT` with real processes: what a streaming run did is in the counts,
// and only who asks as Prometheus does gets them.

import { afterAll, afterEach, expect, test } from "bun:test";
import { HostProcess, killHosts } from "./link-rig.ts";
import { reportOf, runToEnd, Scratch } from "./process.ts";

afterEach(killHosts);

const scratch = new Scratch();
afterAll(() => scratch[Symbol.dispose]());

/** Values by their whole name, labels included. */
async function countsAt(port: number): Promise<Record<string, number>> {
  const response = await fetch(`http://127.0.0.1:${port}/metrics`);
  expect(response.headers.get("content-type")).toStartWith("text/plain; version=0.0.4");
  const lines = (await response.text()).split("\n").filter((line) => /^[^#]/.test(line));
  return Object.fromEntries(
    lines.map((line): [string, number] => {
      const at = line.lastIndexOf(" ");
      return [line.slice("holdfast_host_".length, at), Number(line.slice(at))];
    }),
  );
}

test("a host counts what its robots did", async () => {
  const host = await HostProcess.startCounting(["--robot", "so101", "--policy", "sine"]);
  const port = host.metricsPort!;
  const counts = () => countsAt(port);
  try {
    expect(await counts()).toEqual({});
    const to = ["--policy", `grpc://127.0.0.1:${host.port}`, "--port", "28420"];
    const args = ["run", "so101", "--json", "--task", "none", "--duration", "2", ...to];
    const report = reportOf(await runToEnd(args, { scratch }));
    const other = await runToEnd(["run", "ur5e", "--json", "--task", "none", ...to], { scratch });
    expect([other.code, other.stderr]).toEqual([2, expect.stringContaining("joint_names")]);
    const all = await counts();
    expect(all['robots_connected{robot="so101"}']).toBe(0);
    expect(all['refusals_total{robot="ur5e",field="joint_names"}']).toBe(1);
    const accepted = all['receipts_total{robot="so101",word="accepted"}']!;
    const decisions = all['decisions_total{robot="so101"}']!;
    // The last receipts and decisions may cross the end of the run.
    expect(accepted).toBeGreaterThan(5);
    expect(accepted).toBeLessThanOrEqual(report.evidence["accepted"]!);
    expect(decisions).toBeGreaterThanOrEqual(accepted);
    expect(all['observations_total{robot="so101"}']).toBeGreaterThanOrEqual(decisions);
    expect(all['inference_seconds_count{robot="so101"}']).toBe(decisions);
    expect(all['inference_seconds{robot="so101",quantile="0.5"}']).toBeGreaterThan(0);
    const headers = { host: "elsewhere.example" };
    const url = `http://127.0.0.1:${port}/metrics`;
    expect((await fetch(url, { headers })).status).toBe(403);
    expect((await fetch(url, { method: "POST" })).status).toBe(405);
    expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(404);
    const taken = ["host", "--listen", "127.0.0.1:0", "--metrics", String(port)];
    const second = await runToEnd(taken, { scratch });
    expect([second.code, second.stderr]).toEqual([
      2,
      "holdfast: Cannot use --metrics: expected a port that is free, " +
        `found 127.0.0.1:${port}, where another program listens\n`,
    ]);
  } finally {
    await host.kill();
  }
}, 60_000);
