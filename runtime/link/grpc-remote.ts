// Opens a policy on another machine: dials, and waits until the host is ready, telling a person
// what it waits for. What does not fit is refused here, before anything moves; what is lost later
// is the link's to mend.

import type { ChannelCredentials } from "@grpc/grpc-js";
import { assert } from "../contracts/assert.ts";
import type { PictureReader } from "../contracts/policy.ts";
import { SeededRandom } from "../contracts/seeded-random.ts";
import type { Instant } from "../contracts/units.ts";
import { PolicyError } from "../policy/policy-error.ts";
import { anchoringOf } from "../policy/policy-kind.ts";
import { EdgeLink } from "./edge-link.ts";
import { helloOf } from "./edge-messages.ts";
import type { EdgeFacts } from "./edge-messages.ts";
import { CANNOT_CONNECT, GrpcEdge } from "./grpc-edge.ts";
import { refusalText } from "./handshake.ts";
import { HostWait } from "./host-wait.ts";
import type { WaitEnd } from "./host-wait.ts";
import { HOST_LOAD_NS_MAX, TROUBLE_NS_MIN } from "./limits.ts";
import { RemotePolicy } from "./remote-policy.ts";
import type { EncodePicture } from "./remote-policy.ts";
import type { TlsTrouble } from "./tls-trouble.ts";

/** How often timers are served. */
const POLL_MS = 5;

export type RemoteOptions = {
  readonly target: string;
  readonly credentials: ChannelCredentials;
  readonly tlsName: string | undefined;
  readonly facts: EdgeFacts;
  readonly nowNs: () => Instant;
  readonly pictures: PictureReader | undefined;
  /** Where the robot's profile sends JPEG, and only there. */
  readonly encodePicture?: EncodePicture;
  readonly waitsForEver: boolean;
  readonly seed: number;
  readonly note: (text: string) => void;
  /** Why a handshake with the host fails, if it does; absent without TLS. */
  readonly explain?: () => Promise<TlsTrouble | undefined>;
};

/** Throws PolicyError when the host refuses, or is not there. */
export async function openRemotePolicy(options: RemoteOptions): Promise<RemotePolicy> {
  const { target, facts, nowNs, encodePicture } = options;
  const isJpeg = facts.robot.policy.pictureEncoding === "jpeg";
  assert(isJpeg === (encodePicture !== undefined), "what the hello says is what is sent");
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
  let toldHost = "";
  let tellNs = -Infinity;
  const pump = (): void => {
    edge.pump();
    const { hostText } = link;
    if (hostText === toldHost || nowNs() < tellNs) return;
    toldHost = hostText;
    tellNs = nowNs() + TROUBLE_NS_MIN;
    options.note(`host ${target}: ${hostText}`);
  };
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
  const anchoring = anchoringOf(facts.robot, `grpc://${target}`);
  const parts = { link, pump, hangUp, nowNs, pictures, anchoring, waitsForEver };
  policy = new RemotePolicy(link.facts!, {
    ...parts,
    ...(encodePicture !== undefined && { encodePicture }),
  });
  return policy;
}

async function untilReady(link: EdgeLink, options: RemoteOptions): Promise<void> {
  const { target, note, explain, nowNs } = options;
  const wait = new HostWait();
  const fromNs = nowNs();
  for (let isFirst = true; link.phase !== "ready"; isFirst = false) {
    if (link.refusal !== undefined) {
      throw unreachable(target, "a host that serves this robot", refusalText(link.refusal));
    }
    const waitedNs = nowNs() - fromNs;
    const end = wait.end(link.phase, waitedNs);
    if (isFirst || end === "missing") {
      const trouble = await explain?.();
      if (trouble !== undefined) throw unreachable(target, trouble.expected, trouble.found);
    }
    if (end !== undefined) {
      const found = end === "missing" ? missingText(link.text) : link.text;
      throw unreachable(target, expectedInstead[end], found);
    }
    const line = wait.line(target, link.text, waitedNs);
    if (line !== undefined) note(line);
    await Bun.sleep(POLL_MS);
  }
}

/** What is there instead of a host, from how the link stands. */
export const missingText = (linkText: string): string =>
  linkText.endsWith(CANNOT_CONNECT) ? "nobody who listens there" : linkText;

const expectedInstead: Readonly<Record<WaitEnd, string>> = {
  missing: "a policy host (start one there: holdfast host --help)",
  tooLong: `one that is ready within ${HOST_LOAD_NS_MAX / 1e9} s`,
};

function unreachable(target: string, expected: string, found: string): PolicyError {
  const action = `Cannot use the policy host ${target}`;
  return new PolicyError("no_host", action, { place: "--policy", expected, found });
}
