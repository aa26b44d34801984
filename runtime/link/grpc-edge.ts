// GrpcEdge: carries an EdgeLink over grpc-js. Each session has a channel of its own, made when the
// link dials and destroyed when it hangs up, so that nothing of a dead connection is met again. It
// decides nothing: what to do comes from the link, what happened goes to it.

import { Client, connectivityState, status } from "@grpc/grpc-js";
import type { ChannelCredentials, ClientDuplexStream, ServiceError } from "@grpc/grpc-js";
import type { Instant } from "../contracts/units.ts";
import type { EdgeLink, LinkAnswer } from "./edge-link.ts";
import type { EdgeMessage, HostMessage } from "./generated/policy_pb.js";
import { policyHostService } from "./grpc-service.ts";
import { RECEIVE_SIZE_BYTES_MAX, SEND_SIZE_BYTES_MAX } from "./limits.ts";

export type EdgeTransport = {
  /** `host:port` or `unix:/path`. */
  readonly target: string;
  readonly credentials: ChannelCredentials;
  /** The name that the host's certificate carries; absent without TLS. */
  readonly tlsName?: string;
  readonly nowNs: () => Instant;
  /** Called with every answer, in order. */
  readonly onAnswer: (answer: LinkAnswer) => void;
};

type Stream = ClientDuplexStream<EdgeMessage, HostMessage>;

/** Why a dial failed, whatever the reason: gRPC tells none. */
export const CANNOT_CONNECT = "cannot connect";

/** Options of every channel. */
const CHANNEL = {
  "grpc.max_receive_message_length": RECEIVE_SIZE_BYTES_MAX,
  "grpc.max_send_message_length": SEND_SIZE_BYTES_MAX,
  // A dead connection must not be found again in a pool, nor be retried behind our back.
  "grpc.use_local_subchannel_pool": 1,
  "grpc.enable_retries": 0,
  "grpc.service_config_disable_resolution": 1,
  // The robot talks to its host and to nobody between, whatever the environment says.
  "grpc.enable_http_proxy": 0,
};

export class GrpcEdge {
  readonly #link: EdgeLink;
  readonly #transport: EdgeTransport;
  #client: Client | undefined;
  #stream: Stream | undefined;

  constructor(link: EdgeLink, transport: EdgeTransport) {
    this.#link = link;
    this.#transport = transport;
  }

  /** Serves the link's timers and carries out what it wants. Call it every few milliseconds. */
  pump(): void {
    this.#link.step(this.#transport.nowNs());
    this.#carryOut();
  }

  close(): void {
    this.#link.close();
    this.#carryOut();
  }

  #carryOut(): void {
    for (let out = this.#link.takeOutput(); out !== undefined; out = this.#link.takeOutput()) {
      if (out.kind === "dial") this.#dial();
      else if (out.kind === "hangUp") this.#hangUp();
      else this.#stream?.write(out.message);
    }
    for (let answer = this.#link.takeAnswer(); answer; answer = this.#link.takeAnswer()) {
      this.#transport.onAnswer(answer);
    }
  }

  #dial(): void {
    const { target, credentials, tlsName } = this.#transport;
    const name = tlsName === undefined ? {} : { "grpc.ssl_target_name_override": tlsName };
    const client = new Client(target, credentials, { ...CHANNEL, ...name });
    this.#client = client;
    this.#watch(client);
  }

  /** Follows a channel until it is open or has failed; how long that may take is the link's. */
  #watch(client: Client): void {
    if (this.#client !== client) return;
    const { nowNs } = this.#transport;
    const channel = client.getChannel();
    const state = channel.getConnectivityState(true);
    if (state === connectivityState.READY) {
      this.#open(client);
      this.#link.opened(nowNs());
    } else if (state === connectivityState.TRANSIENT_FAILURE) {
      this.#hangUp();
      this.#link.closed(CANNOT_CONNECT, nowNs());
    } else {
      channel.watchConnectivityState(state, Infinity, () => this.#watch(client));
      return;
    }
    this.#carryOut();
  }

  #open(client: Client): void {
    const { path, requestSerialize, responseDeserialize } = policyHostService.run;
    const stream: Stream = client.makeBidiStreamRequest(
      path,
      requestSerialize,
      responseDeserialize,
    );
    this.#stream = stream;
    const isCurrent = (): boolean => this.#stream === stream;
    const { nowNs } = this.#transport;
    stream.on("data", (message: HostMessage) => {
      if (!isCurrent()) return;
      this.#link.received(message, nowNs());
      this.#carryOut();
    });
    const ended = (why: string): void => {
      if (!isCurrent()) return;
      this.#hangUp();
      this.#link.closed(why, nowNs());
      this.#carryOut();
    };
    stream.on("end", () => ended("the host closed the stream"));
    stream.on("error", (error: ServiceError) => ended(`${status[error.code]}: ${error.details}`));
  }

  #hangUp(): void {
    const stream = this.#stream;
    const client = this.#client;
    this.#stream = undefined;
    this.#client = undefined;
    stream?.cancel();
    client?.close();
  }
}
