// What a host counts, as Prometheus reads it, on a port of this machine alone. The counts are kept
// by the link and put into text when somebody asks: a metrics library would keep them twice.

import type { HostCounts, RobotCounts } from "../link/host-counts.ts";
import { listenError } from "./listen-error.ts";

const ADDRESS = "127.0.0.1";
const PATH = "/metrics";
const PREFIX = "holdfast_host_";
const NS_PER_S = 1e9;
const quantiles = [0.5, 0.9, 0.99] as const;

type Metric = {
  readonly name: string;
  readonly kind: "gauge" | "counter" | "summary";
  readonly help: string;
  /** Lines: what follows the name, further labels, the value. */
  readonly read: (robot: RobotCounts) => readonly Sample[];
};
type Sample = readonly [suffix: string, labels: Readonly<Record<string, string>>, value: number];

const one = (value: number): readonly Sample[] => [["", {}, value]];
const byWord = (label: string, words: ReadonlyMap<string, number>): readonly Sample[] =>
  [...words].map(([word, count]) => ["", { [label]: word }, count]);

const metrics: readonly Metric[] = [
  {
    name: "robots_connected",
    kind: "gauge",
    help: "Streams that live.",
    read: ({ connectedCount }) => one(connectedCount),
  },
  {
    name: "observations_total",
    kind: "counter",
    help: "Observations that came.",
    read: ({ counts }) => one(counts.observationCount),
  },
  {
    name: "observations_forgotten_total",
    kind: "counter",
    help: "Observations that a newer one replaced before their turn came.",
    read: ({ counts }) => one(counts.forgottenCount),
  },
  {
    name: "decisions_total",
    kind: "counter",
    help: "Decisions made.",
    read: ({ counts }) => one(counts.decisionCount),
  },
  {
    name: "no_decisions_total",
    kind: "counter",
    help: "Acts in which the policy decided nothing or threw.",
    read: ({ counts }) => one(counts.idleCount),
  },
  {
    name: "refusals_total",
    kind: "counter",
    help: "Sessions that were refused, by field.",
    read: ({ counts }) => byWord("field", counts.refusals),
  },
  {
    name: "receipts_total",
    kind: "counter",
    help: "What robots said of decisions, by word.",
    read: ({ counts }) => byWord("word", counts.receipts),
  },
  {
    name: "inference_seconds",
    kind: "summary",
    help: "How long a decision took the policy; quantiles over the newest 1024.",
    read: ({ counts }) => inference(counts),
  },
];

function inference(counts: HostCounts): readonly Sample[] {
  const ranks = quantiles.map((rank): Sample => {
    return ["", { quantile: String(rank) }, counts.inferenceNs(rank) / NS_PER_S];
  });
  const sum: Sample = ["_sum", {}, counts.inferenceTotalNs / NS_PER_S];
  return [...ranks, sum, ["_count", {}, counts.decisionCount]];
}

/** In the text format 0.0.4. */
export function metricsText(robots: ReadonlyMap<string, RobotCounts>): string {
  const lines: string[] = [];
  for (const { name, kind, help, read } of metrics) {
    lines.push(`# HELP ${PREFIX}${name} ${help}`, `# TYPE ${PREFIX}${name} ${kind}`);
    for (const [robot, counts] of robots) {
      for (const [suffix, labels, value] of read(counts)) {
        lines.push(`${PREFIX}${name}${suffix}{${labelText({ robot, ...labels })}} ${value}`);
      }
    }
  }
  return `${lines.join("\n")}\n`;
}

function labelText(labels: Readonly<Record<string, string>>): string {
  const escaped = (text: string): string =>
    text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
  return Object.entries(labels)
    .map(([label, text]) => `${label}="${escaped(text)}"`)
    .join(",");
}

export type MetricsServer = { readonly url: string; close(): void };

/** Throws UsageError when the port is taken. */
export function serveMetrics(port: number, read: () => string): MetricsServer {
  try {
    const server = Bun.serve({
      hostname: ADDRESS,
      port,
      development: false,
      reusePort: false, // else a second host would answer half of the questions
      fetch: (request) => answer(request, port, read),
    });
    return {
      url: `http://${ADDRESS}:${port}${PATH}`,
      close: () => {
        server.stop(true).catch(() => undefined);
      },
    };
  } catch (cause) {
    throw listenError("--metrics", `${ADDRESS}:${port}`, cause);
  }
}

/** A name that was rebound to this machine is refused, as are other paths. */
function answer(request: Request, port: number, read: () => string): Response {
  const host = request.headers.get("host") ?? "";
  if (host !== `${ADDRESS}:${port}` && host !== `localhost:${port}`) {
    return new Response(`Host must be ${ADDRESS}:${port}\n`, { status: 403 });
  }
  if (request.method !== "GET") return new Response("Only GET here\n", { status: 405 });
  if (new URL(request.url).pathname !== PATH)
    return new Response(`Only ${PATH} here\n`, { status: 404 });
  const headers = {
    "content-type": "text/plain; version=0.0.4; charset=utf-8",
    "cache-control": "no-store",
  };
  return new Response(read(), { headers });
}
