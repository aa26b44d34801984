// Opens a policy on another machine: dials, and waits until the host is ready, telling a person
// what it waits for. What does not fit is refused here, before anything moves; what is lost later
// is the link's to mend.

import type { ChannelCredentials } from "@grpc/grpc-js";
import type { PictureReader } from "../contracts/policy.ts";
import { SeededRandom } from "../contracts/seeded-random.ts";
import type { Instant } from "../contracts/units.ts";
import { PolicyError } from "../policy/policy-error.ts";
import { EdgeLink } from "./edge-link.ts";
import { helloOf } from "./edge-messages.ts";
import type { EdgeFacts } from "./edge-messages.ts";
import { CANNOT_CONNECT, GrpcEdge } from "./grpc-edge.ts";
import { refusalText } from "./handshake.ts";
import { RemotePolicy } from "./remote-policy.ts";
import type { TlsTrouble } from "./tls-trouble.ts";

/** How often timers are served. */
const POLL_MS = 5;
/** A host that cannot be reached for so long is not there: the run does not start. */
const REACH_MS_MAX = 10_000;
/** How often a person hears what is waited for. */
const TELL_MS = 2_000;

export type RemoteOptions = {
  readonly target: string;
  readonly credentials: ChannelCredentials;
  readonly tlsName: string | undefined;
  readonly facts: EdgeFacts;
  readonly nowNs: () => Instant;
  readonly pictures: PictureReader | undefined;
  readonly waitsForEver: boolean;
  readonly seed: number;
  readonly note: (text: string) => void;
  /** Why a handshake with the host fails, if it does; absent without TLS. */
  readonly explain?: () => Promise<TlsTrouble | undefined>;
};

/** Throws PolicyError when the host refuses, or is not there. */
export async function openRemotePolicy(options: RemoteOptions): Promise<RemotePolicy> {
  const { target, facts, nowNs } = options;
  const link = new EdgeLink({
    makeHello: (session) => helloOf(facts, session),
    random: new SeededRandom(options.seed),
  });
  let policy: RemotePolicy | undefined;
  const edge = new GrpcEdge(link, {
    target,
    credentials: options.credentials,
    ...(options.tlsName !== undefined && { tlsName: options.tlsName }),
    nowNs,
    onAnswer: (answer) => policy?.answered(answer),
  });
  const pump = (): void => edge.pump();
  link.start(nowNs());
  const timer = setInterval(pump, POLL_MS);
  const hangUp = (): void => {
    clearInterval(timer);
    edge.close();
  };
  try {
    await untilReady(link, options);
  } catch (error) {
    hangUp();
    throw error;
  }
  const { waitsForEver, pictures } = options;
  policy = new RemotePolicy(link.facts!, { link, pump, hangUp, nowNs, pictures, waitsForEver });
  return policy;
}

async function untilReady(link: EdgeLink, { target, note, explain }: RemoteOptions): Promise<void> {
  for (let waitedMs = 0; link.phase !== "ready"; waitedMs += POLL_MS) {
    if (link.refusal !== undefined) {
      throw unreachable(target, "a host that fits this robot", refusalText(link.refusal));
    }
    const isMissing = link.facts === undefined && waitedMs >= REACH_MS_MAX;
    if (link.facts === undefined && (waitedMs === 0 || isMissing)) {
      const trouble = await explain?.();
      if (trouble !== undefined) throw unreachable(target, trouble.expected, trouble.found);
    }
    if (isMissing) {
      const remedy = "start one there: holdfast host --help";
      throw unreachable(target, `a policy host (${remedy})`, missingText(link.text));
    }
    if (waitedMs % TELL_MS === 0 && waitedMs > 0) note(`policy host ${target}: ${link.text}`);
    await Bun.sleep(POLL_MS);
  }
}

/** What is there instead of a host, from how the link stands. */
export const missingText = (linkText: string): string =>
  linkText.endsWith(CANNOT_CONNECT) ? "nobody who listens there" : linkText;

function unreachable(target: string, expected: string, found: string): PolicyError {
  const action = `Cannot use the policy host ${target}`;
  return new PolicyError("no_host", action, { place: "--policy", expected, found });
}
