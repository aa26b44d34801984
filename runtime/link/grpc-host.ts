// GrpcHost: serves policies over grpc-js. One HostSession a stream, one policy a session; what a
// session wants is carried out here, and the streams live apart from each other. It listens where
// it is told and nowhere else.

import { create } from "@bufbuild/protobuf";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { logVerbosity, Server, setLogVerbosity, status } from "@grpc/grpc-js";
import type {
  sendUnaryData,
  ServerCredentials,
  ServerDuplexStream,
  ServerUnaryCall,
} from "@grpc/grpc-js";
import type { Instant } from "../contracts/units.ts";
import { DescribeReplySchema, HostMessageSchema, HostStatus_State } from "./generated/policy_pb.js";
import type { HostStatusSchema } from "./generated/policy_pb.js";
import type {
  Chunk,
  DescribeReply,
  DescribeRequest,
  EdgeMessage,
  Hello,
  HostMessage,
  Observation,
  PolicyFacts,
} from "./generated/policy_pb.js";
import { cut } from "./foreign-text.ts";
import { healthService, HostHealth } from "./grpc-health.ts";
import { GARBAGE, policyHostService } from "./grpc-service.ts";
import { refusalText } from "./handshake.ts";
import { HostTally } from "./host-counts.ts";
import type { HostCounts, RobotCounts } from "./host-counts.ts";
import { HostSession } from "./host-session.ts";
import type { Decision } from "./host-session.ts";
import {
  CLOSE_MS_MAX,
  HOST_LOOK_MS,
  IDLE_CONNECTION_MS_MAX,
  PROTOCOL_VERSION,
  RECEIVE_SIZE_BYTES_MAX,
  ROBOT_COUNT_MAX,
  SEND_SIZE_BYTES_MAX,
} from "./limits.ts";
import { told } from "./lie.ts";
import type { Told } from "./lie.ts";
import type { Mischief } from "./mischief.ts";
import { certificateFingerprint } from "./tls-certificates.ts";

/** One robot's policy on this host, in a thread of its own. */
export interface HostPolicy {
  reset(epoch: number): void;
  /** Answered by `decided`. */
  act(observation: Observation): void;
  close(): void;
}

/** What a policy tells its session. */
export type HostPolicyEvents = {
  made(facts: PolicyFacts): void;
  status(state: HostStatus_State, text: string): void;
  /** Null when the policy made no decision, and then why, as far as that is known. */
  decided(decision: Decision | null, trouble: string): void;
  /** It cannot be made, or it has ended: the stream ends with this refusal. */
  refused(field: string, expected: string, found: string, remedy: string): void;
};

export type GrpcHostOptions = {
  readonly credentials: ServerCredentials;
  readonly nowNs: () => Instant;
  readonly runtimeVersions: Readonly<Record<string, string>>;
  readonly mischief: Mischief | undefined;
  /** Judges the key of a robot's certificate at its every session; absent without TLS. */
  readonly admits?: (fingerprint: string) => boolean;
  readonly openPolicy: (hello: Hello, events: HostPolicyEvents) => HostPolicy;
  /** One line for a person. */
  readonly note: (text: string) => void;
};

type Stream = ServerDuplexStream<EdgeMessage, HostMessage>;

const NOT_ADMITTED = "one that was revoked, or removed from this host's list";
const PAIR_AGAIN = "pair again: on the host type holdfast pair host";
/** Refusals of these fields have had a line of their own. */
const TOLD_FIELDS: ReadonlySet<string> = new Set(["policy", "certificate"]);
const ONE_MORE = "start another host for it, or end another robot's run";

export class GrpcHost {
  readonly #server: Server;
  readonly #options: GrpcHostOptions;
  readonly #streams = new Set<HostStream>();
  readonly #tally = new HostTally();
  readonly #looking: ReturnType<typeof setInterval>;
  readonly #health: HostHealth;
  #facts: PolicyFacts | undefined;

  private constructor(options: GrpcHostOptions) {
    this.#options = options;
    this.#health = new HostHealth((call) => isAdmitted(call, options));
    this.#server = new Server({
      // An edge sends pictures and gets numbers.
      "grpc.max_receive_message_length": SEND_SIZE_BYTES_MAX,
      "grpc.max_send_message_length": RECEIVE_SIZE_BYTES_MAX,
      "grpc.max_concurrent_streams": ROBOT_COUNT_MAX, // of one connection
      "grpc.max_connection_idle_ms": IDLE_CONNECTION_MS_MAX,
    });
    this.#looking = setInterval(() => {
      for (const stream of this.#streams) stream.look();
    }, HOST_LOOK_MS);
    this.#server.addService(policyHostService, {
      describe: (
        call: ServerUnaryCall<DescribeRequest, DescribeReply>,
        answer: sendUnaryData<DescribeReply>,
      ) => {
        if (isAdmitted(call, options)) answer(null, this.#describe());
        else answer({ code: status.UNAUTHENTICATED, details: NOT_ADMITTED });
      },
      run: (stream: Stream) => this.#run(stream),
    });
    this.#server.addService(healthService, this.#health.handlers);
  }

  /** Listens at `address` (`host:port`, port 0 for any). Rejects when it cannot. */
  static open(
    address: string,
    options: GrpcHostOptions,
  ): Promise<{ host: GrpcHost; port: number }> {
    setLogVerbosity(logVerbosity.NONE); // it logs what it rejects with as well
    const host = new GrpcHost(options);
    return new Promise((resolve, reject) => {
      host.#server.bindAsync(address, options.credentials, (error, port) => {
        if (error === null) resolve({ host, port });
        else reject(error);
      });
    });
  }

  /** What has happened so far, by robot. */
  counts(): ReadonlyMap<string, RobotCounts> {
    return this.#tally.read(this.#streams);
  }

  /** Ends the sessions of robots that are not admitted any more. */
  recheck(): void {
    for (const stream of this.#streams) stream.recheck();
    this.#health.recheck();
  }

  /** Ends every stream. Resolves once what was said last is out, or nobody takes it. */
  async close(): Promise<void> {
    clearInterval(this.#looking);
    this.#health.close();
    for (const stream of this.#streams) stream.close();
    await new Promise<void>((resolve) => {
      setTimeout(resolve, CLOSE_MS_MAX).unref();
      this.#server.tryShutdown(() => resolve());
    });
    this.#server.forceShutdown();
  }

  #describe(): DescribeReply {
    return create(DescribeReplySchema, {
      protocolVersion: PROTOCOL_VERSION,
      ...(this.#facts !== undefined && { policy: this.#facts }),
      status: this.#status(),
      runtimeVersions: { ...this.#options.runtimeVersions },
    });
  }

  /** Of the robot whose policy is furthest from deciding. */
  #status(): MessageInitShape<typeof HostStatusSchema> {
    const robots = [...this.#streams].filter(({ robot }) => robot !== "");
    const state = Math.min(HostStatus_State.READY, ...robots.map((robot) => robot.state));
    const troubled = robots.find(({ trouble }) => trouble !== "");
    const text = troubled === undefined ? "" : `${troubled.robot}: ${troubled.trouble}`;
    return { state, text: cut(text), edgeCount: this.#streams.size };
  }

  #run(stream: Stream): void {
    const served = new HostStream(stream, this.#options, {
      made: (facts) => {
        this.#facts = facts;
      },
      ended: () => {
        if (this.#streams.delete(served)) this.#tally.end(served);
      },
    });
    this.#streams.add(served);
    served.recheck();
    if (this.#streams.size <= ROBOT_COUNT_MAX) return;
    served.refuse("robots", `at most ${ROBOT_COUNT_MAX} at once`, "one more", ONE_MORE);
  }
}

type StreamEvents = { made(facts: PolicyFacts): void; ended(): void };

class HostStream {
  readonly #stream: Stream;
  readonly #options: GrpcHostOptions;
  readonly #events: StreamEvents;
  readonly #session: HostSession;
  #policy: HostPolicy | undefined;
  #isOver = false;

  constructor(stream: Stream, options: GrpcHostOptions, events: StreamEvents) {
    this.#stream = stream;
    this.#options = options;
    this.#events = events;
    this.#session = new HostSession(options.runtimeVersions);
    stream.on("data", (message: EdgeMessage) => {
      if (this.#isFrozen) return;
      const { case: kind, value } = message.message;
      if (kind === "refusal")
        this.#options.note(`${this.#name} refused ${cut(refusalText(value))}`);
      this.#session.received(message, options.nowNs());
      this.#carryOut();
    });
    stream.on("end", () => this.close());
    stream.on("error", () => this.close());
    stream.on("cancelled", () => this.close());
  }

  /** Empty before its hello. */
  get robot(): string {
    return this.#session.robot;
  }
  get counts(): HostCounts {
    return this.#session.counts;
  }
  get state(): HostStatus_State {
    return this.#session.state;
  }
  get trouble(): string {
    return this.#session.trouble;
  }

  /** Refuses a robot whose certificate is good and not wanted. */
  recheck(): void {
    if (isAdmitted(this.#stream, this.#options)) return;
    this.#options.note(`a robot was refused: ${NOT_ADMITTED}`);
    this.refuse("certificate", "that of a paired robot", NOT_ADMITTED, PAIR_AGAIN);
  }

  refuse(field: string, expected: string, found: string, remedy: string): void {
    this.#session.refuse(field, expected, found, remedy);
    this.#carryOut();
  }

  /** Ends the stream of a robot that is gone without a word: a pulled cable tells nobody. */
  look(): void {
    if (this.#isFrozen) return;
    this.#session.look();
    this.#carryOut();
  }

  close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#policy?.close();
    this.#stream.end();
    this.#events.ended();
    if (this.#session.robot !== "") this.#options.note(`${this.#session.robot} left`);
  }

  get #name(): string {
    return this.robot === "" ? "a robot" : this.robot;
  }

  get #isFrozen(): boolean {
    return this.#options.mischief?.isFrozen(this.#options.nowNs()) === true;
  }

  #carryOut(): void {
    const session = this.#session;
    for (let out = session.takeOutput(); out !== undefined; out = session.takeOutput()) {
      if (this.#isOver) return;
      if (out.kind === "send") this.#send(out.message);
      else if (out.kind === "open") this.#open(out.hello);
      else if (out.kind === "reset") this.#policy?.reset(out.epoch);
      else if (out.kind === "act") this.#policy?.act(out.observation);
      else this.close();
    }
  }

  #open(hello: Hello): void {
    const session = this.#session;
    this.#options.note(`${hello.robot} connected, session ${hello.linkSession}`);
    this.#policy = this.#options.openPolicy(hello, {
      made: (facts) => {
        this.#events.made(facts);
        session.welcome(facts);
        this.#carryOut();
      },
      status: (state, text) => {
        session.status(state, text);
        this.#carryOut();
      },
      decided: (decision, trouble) => {
        if (this.#isOver) return;
        session.decided(decision, trouble, this.#options.nowNs());
        this.#carryOut();
      },
      refused: (field, expected, found, remedy) => this.refuse(field, expected, found, remedy),
    });
  }

  /** Chunks pass through what mischief there is; the rest goes out at once, unless frozen. */
  #send(message: HostMessage): void {
    const { mischief } = this.#options;
    const { case: kind, value } = message.message;
    if (kind === "refusal" && !TOLD_FIELDS.has(value.field)) {
      this.#options.note(`${this.#name} was refused: ${cut(refusalText(value))}`);
    }
    if (mischief === undefined || kind !== "chunk") {
      this.#write(message);
      return;
    }
    const delayNs = mischief.delayNs();
    if (delayNs === undefined) return;
    const { lie } = mischief;
    const { chunks, isGarbage } = lie === undefined ? truth(value) : told(value, lie);
    setTimeout(() => {
      for (const chunk of chunks) {
        this.#write(create(HostMessageSchema, { message: { case: "chunk", value: chunk } }));
      }
      if (isGarbage) this.#write(GARBAGE);
    }, delayNs / 1e6);
  }

  #write(message: HostMessage | typeof GARBAGE): void {
    if (!this.#isOver && !this.#isFrozen) this.#stream.write(message as HostMessage);
  }
}

type Call = Pick<Stream, "getAuthContext">;

function isAdmitted(call: Call, { admits }: GrpcHostOptions): boolean {
  if (admits === undefined) return true;
  const certificate = call.getAuthContext().sslPeerCertificate;
  return certificate !== undefined && admits(certificateFingerprint(certificate.raw));
}

const truth = (chunk: Chunk): Told => ({ chunks: [chunk], isGarbage: false });
