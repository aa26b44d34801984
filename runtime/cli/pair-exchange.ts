// What `holdfast pair` and `holdfast pair host` do: one exchange, watched by a person on each side.
// The code is written to standard output of the host, and nowhere else.

import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { createInterface } from "node:readline";
import { duration } from "../contracts/units.ts";
import type { Instant } from "../contracts/units.ts";
import { parseAddress, parseDialAddress } from "../link/address.ts";
import type { LinkAddress } from "../link/address.ts";
import { PairHost } from "../link/grpc-pair-host.ts";
import { pairWithHost } from "../link/grpc-pair-robot.ts";
import { CODE_SIZE_BYTES, codeOf, parseCode } from "../link/pair-code.ts";
import type { PairEnd } from "../link/pair-desk.ts";
import { PairStore } from "../link/pair-store.ts";
import { makeIdentity } from "../link/tls-authority.ts";
import { certificateFingerprint } from "../link/tls-certificates.ts";
import { stateFolder } from "../workers/state-folder.ts";
import { sessionOrigin, SystemClock } from "../workers/system-clock.ts";
import type { CommandContext } from "./command-context.ts";
import { listenError } from "./listen-error.ts";
import { printable } from "./output.ts";
import { dialText } from "./own-address.ts";
import { firstSignal } from "./signals.ts";
import { ExitCode, quoted, UsageError } from "./usage.ts";

const POLL_MS = 100;
/** How often a person hears how long the code is still good for. */
const TELL_NS = 30e9;
/** Where the policies will be. */
const HOST_LISTEN = "0.0.0.0:7777";

/** Waits for one robot. Throws UsageError and PairingError. */
export async function pairHost(listen: string, context: CommandContext): Promise<void> {
  const { out, err, program } = context;
  const address = addressOf("--listen", listen, parseAddress, "an address such as 0.0.0.0:7776");
  if (address.isLoopback) {
    const expected = "an address that other machines reach, such as 0.0.0.0:7776";
    throw new UsageError("--listen", expected, quoted(listen));
  }
  const store = new PairStore(stateFolder(context.user.environment));
  const identity = await store.needIdentity(makeIdentity);
  const clock = new SystemClock(sessionOrigin(), duration(0), { stopped: false });
  const code = codeOf(randomBytes(CODE_SIZE_BYTES));
  const host = await open(listen, {
    host: address.host,
    port: address.port,
    code,
    identity,
    nowNs: () => clock.nowNs(),
    nameOf: (wished) => store.freeName(wished),
    keep: (robot) => store.putRobot(robot),
    note: (text) => err.write(`${printable(text)}\n`),
  });
  const to = dialText(address, host.port);
  const interrupted = firstSignal(context.signals, () => context.leave(ExitCode.Interrupted));
  out.write(`this host's key: ${certificateFingerprint(identity.host.certificate)}\n`);
  // Apart: a command line is in its shell's history and in every process list.
  out.write(`on the robot: ${program} pair grpc://${to}\n`);
  out.write(`code, which it asks for: ${code}\n`);
  const closed = await untilClosed(host, context, interrupted, () => clock.nowNs());
  await host.close();
  const { paired } = host;
  if (paired === undefined) {
    err.write(`holdfast: not paired: ${closed}; type ${program} pair host for a new code\n`);
    context.exitWith(ExitCode.Failed);
    return;
  }
  out.write(`paired with robot ${paired.name}, key: ${paired.fingerprint}\n`);
  out.write(`next, here: ${program} host --listen ${HOST_LISTEN}\n`);
  out.write(`on the robot: ${program} run --policy grpc://${to.replace(/:\d+$/, "")}\n`);
}

/** Why the waiting ended. */
async function untilClosed(
  host: PairHost,
  { err }: CommandContext,
  interrupted: Promise<void>,
  nowNs: () => Instant,
): Promise<string> {
  let isInterrupted = false;
  void interrupted.then(() => {
    isInterrupted = true;
  });
  for (let tellNs = host.desk.leftNs(nowNs()); !isInterrupted; await Bun.sleep(POLL_MS)) {
    const closed = host.desk.closed(nowNs());
    if (closed !== undefined && (closed !== "used_code" || host.paired !== undefined)) {
      return closedTexts[closed];
    }
    const leftNs = host.desk.leftNs(nowNs());
    if (leftNs > tellNs) continue;
    err.write(`waiting for the robot: ${Math.ceil(leftNs / 1e9)} s left\n`);
    tellNs -= TELL_NS;
  }
  return "interrupted";
}

const closedTexts: Readonly<Record<PairEnd, string>> = {
  used_code: "the code is used",
  expired_code: "the code has expired",
  void_code: "three wrong codes",
};

async function open(
  listen: string,
  options: Parameters<typeof PairHost.open>[0],
): Promise<PairHost> {
  try {
    return await PairHost.open(options);
  } catch (cause) {
    throw listenError("--listen", listen, cause);
  }
}

/** Pairs this robot. Throws UsageError and PairingError. */
export async function pairRobot(
  target: string,
  typed: string | undefined,
  context: CommandContext,
): Promise<void> {
  const { out, program } = context;
  const address = addressOf(
    "ADDR",
    target,
    parseDialAddress,
    "grpc://HOST:PORT, as the host prints",
  );
  if (address.isLoopback) {
    const expected = `another machine (on this one nothing needs pairing: ${program} host)`;
    throw new UsageError("ADDR", expected, quoted(target));
  }
  const code = parseCode(typed ?? (await askedCode(context)));
  // What was typed is not shown: it may be a right one with a slip.
  if (code === undefined)
    throw new UsageError("--code", "XXXX-XXXX, as the host shows", "something else");
  const store = new PairStore(stateFolder(context.user.environment));
  const paired = await pairWithHost({ address, code, name: hostname() });
  store.putHost(paired.host);
  const { name, fingerprint } = paired.host;
  out.write(`paired with host ${name}, key: ${fingerprint}\n`);
  out.write(
    `this robot is ${printable(paired.robotName)} there, key: ${paired.robotFingerprint}\n`,
  );
  out.write(`next, on the host: ${program} host --listen ${HOST_LISTEN}\n`);
  const shown = name.includes(":") ? `[${name}]` : name;
  out.write(`here: ${program} run --policy grpc://${shown}\n`);
}

async function askedCode({ err }: CommandContext): Promise<string> {
  err.write("code: ");
  const lines = createInterface({ input: process.stdin });
  for await (const line of lines) {
    lines.close();
    return line;
  }
  throw new UsageError("--code", "the code that the host shows", "nothing");
}

function addressOf(
  place: string,
  text: string,
  parse: typeof parseAddress,
  expected: string,
): LinkAddress {
  const address = parse(text);
  if (address !== undefined) return address;
  throw new UsageError(place, expected, quoted(text));
}
