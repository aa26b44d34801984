// What `holdfast host` does: listens, serves, and misbehaves as it was asked to, until a signal. On
// an address that is not this machine's alone, only paired robots get in.

import { ServerCredentials } from "@grpc/grpc-js";
import { spawnHostPolicy, tryPolicyFile } from "../compose.ts";
import { SeededRandom } from "../contracts/seeded-random.ts";
import { duration } from "../contracts/units.ts";
import type { Duration, Instant } from "../contracts/units.ts";
import { DEFAULT_LISTEN, parseAddress } from "../link/address.ts";
import type { LinkAddress } from "../link/address.ts";
import { GrpcHost } from "../link/grpc-host.ts";
import { Mischief } from "../link/mischief.ts";
import type { GrpcHostOptions } from "../link/grpc-host.ts";
import { PairingError } from "../link/pair-error.ts";
import { needIdentity } from "../link/pair-rules.ts";
import { PairStore } from "../link/pair-store.ts";
import { certificateFingerprint } from "../link/tls-certificates.ts";
import { HostCredentials } from "../link/tls-trust.ts";
import { sessionOrigin, SystemClock, wallTimeMs } from "../workers/system-clock.ts";
import { stateFolder } from "../workers/state-folder.ts";
import type { CommandContext } from "./command-context.ts";
import { checkHosted } from "./host-check.ts";
import { listenError } from "./listen-error.ts";
import type { HostValues } from "./host-command.ts";
import { metricsText, serveMetrics } from "./host-metrics.ts";
import { dialText } from "./own-address.ts";
import { HostPolicyThreads, openHostPolicy } from "./policy-host.ts";
import type { HostedPolicy } from "./policy-host.ts";
import { printable } from "./output.ts";
import { firstSignal } from "./signals.ts";
import { ExitCode, lengthOf, quoted, UsageError } from "./usage.ts";
import { PROGRAM_VERSION } from "./version-command.ts";

/** How soon a robot that is revoked loses its session. */
const RECHECK_MS = 1_000;
/** How often policies that load are looked at. */
const STEP_MS = 1_000;

/** Serves until a signal. Throws what `checkHosted` throws, UsageError and PairingError. */
export async function servePolicies(values: HostValues, context: CommandContext): Promise<void> {
  const address = listenAddress(values.listen ?? DEFAULT_LISTEN);
  const clock = new SystemClock(sessionOrigin(), duration(0), { stopped: false });
  const note = (text: string): void => context.err.write(`${printable(text)}\n`);
  const trust = trustFor(address, context, note);
  const threads = new HostPolicyThreads(spawnHostPolicy, () => clock.nowNs(), note);
  const stepping = setInterval(() => threads.step(), STEP_MS);
  // Before anything loads, which may take minutes, and long before anybody knows the host.
  const ended = firstSignal(context.signals, () => context.leave(ExitCode.Interrupted));
  try {
    const hosted = await Promise.race([
      checkHosted(values, threads, (path) => tryPolicyFile(path, note)),
      ended,
    ]);
    if (hosted === undefined) {
      context.err.write("holdfast: ended before the host listened\n");
      context.exitWith(ExitCode.Failed);
      return;
    }
    await serve({ address, values, context, clock, note, trust, threads, hosted, ended });
  } finally {
    clearInterval(stepping);
    threads.close();
  }
  context.exitWith(ExitCode.Done);
}

type Serving = {
  readonly address: LinkAddress;
  readonly values: HostValues;
  readonly context: CommandContext;
  readonly clock: SystemClock;
  readonly note: (text: string) => void;
  readonly trust: Trust;
  readonly threads: HostPolicyThreads;
  readonly hosted: HostedPolicy;
  /** Resolves at the first signal. */
  readonly ended: Promise<void>;
};

/** Listens, until a signal. Throws UsageError when it cannot. */
async function serve(serving: Serving): Promise<void> {
  const { address, values, context, clock, note, trust, threads, hosted, ended } = serving;
  const { host, port } = await open(address, {
    credentials: trust.credentials,
    ...(trust.admits !== undefined && { admits: trust.admits }),
    nowNs: () => clock.nowNs(),
    runtimeVersions: { holdfast: PROGRAM_VERSION, bun: Bun.version },
    mischief: mischiefOf(values, clock.nowNs()),
    openPolicy: (hello, events) => openHostPolicy(threads, hosted, hello, events),
    note,
  });
  const metrics =
    values.metrics === undefined
      ? undefined
      : serveMetrics(values.metrics, () => metricsText(host.counts()));
  const at = address.target.replace(/:\d+$/, `:${port}`);
  const policy = printable(hosted.policy ?? "the expert of each robot's task");
  context.out.write(`policy host: ${policy}, on ${at}\n`);
  for (const line of trust.lines) context.out.write(`${line}\n`);
  const to = dialText(address, port);
  context.out.write(`on the robot: ${context.program} run --policy grpc://${to}\n`);
  if (metrics !== undefined) context.out.write(`metrics: ${metrics.url}\n`);
  const rechecking = setInterval(() => host.recheck(), RECHECK_MS);
  await ended;
  clearInterval(rechecking);
  metrics?.close();
  await host.close();
}

function listenAddress(text: string): LinkAddress {
  const address = parseAddress(text);
  if (address === undefined) {
    throw new UsageError("--listen", "an address such as 127.0.0.1:7777", quoted(text));
  }
  return address;
}

type Trust = Pick<GrpcHostOptions, "credentials" | "admits"> & {
  readonly lines: readonly string[];
};

/** Plain on this machine alone; certificates on both sides anywhere else. */
function trustFor(
  address: LinkAddress,
  { user }: CommandContext,
  note: (text: string) => void,
): Trust {
  if (address.isLoopback) return { credentials: ServerCredentials.createInsecure(), lines: [] };
  const store = new PairStore(stateFolder(user.environment));
  const identity = needIdentity(store, address.target, wallTimeMs());
  const names = store.robots().filter(({ isRevoked }) => !isRevoked);
  return {
    credentials: new HostCredentials(identity),
    admits: admitsOf(store, note),
    lines: [
      `its key: ${certificateFingerprint(identity.host.certificate)}`,
      `paired robots: ${names.map(({ name }) => name).join(", ")}`,
    ],
  };
}

/** Admits nobody while a file of the pairings can't be read, and says so once. */
function admitsOf(
  store: PairStore,
  note: (text: string) => void,
): (fingerprint: string) => boolean {
  let told = "";
  return (fingerprint) => {
    try {
      return store.admits(fingerprint);
    } catch (error) {
      if (!(error instanceof PairingError)) throw error;
      if (error.message !== told) note(error.message);
      told = error.message;
      return false;
    }
  };
}

async function open(
  address: LinkAddress,
  options: Parameters<typeof GrpcHost.open>[1],
): ReturnType<typeof GrpcHost.open> {
  try {
    return await GrpcHost.open(address.target, options);
  } catch (cause) {
    throw listenError("--listen", address.target, cause);
  }
}

function mischiefOf(values: HostValues, nowNs: Instant): Mischief | undefined {
  const { latency, jitter, drop, freeze, lie, seed = 0 } = values;
  if ([latency, jitter, drop, freeze, lie].every((asked) => asked === undefined)) return undefined;
  const [freezeFromNs, freezeNs] = freezeOf(freeze);
  const plan = {
    lie,
    latencyNs: latency ?? duration(0),
    jitterNs: jitter ?? duration(0),
    dropRatio: drop ?? 0,
    freezeFromNs,
    freezeUntilNs: duration(freezeFromNs + freezeNs),
  };
  return new Mischief(plan, new SeededRandom(seed), nowNs);
}

function freezeOf(text: string | undefined): readonly [Duration, Duration] {
  if (text === undefined) return [duration(0), duration(0)];
  const [at = "", length = "", ...rest] = text.split("+");
  if (rest.length > 0 || length === "") {
    throw new UsageError("--freeze", "AT+FOR, such as 10s+3s", quoted(text));
  }
  const read = lengthOf("--freeze");
  return [read(at, undefined), read(length, undefined)];
}
