// What the tests of the link share: facts of a small robot and of a policy that fits it, and a
// network of virtual time between an EdgeLink and a HostSession that loses, delays, reorders and
// repeats messages from a seed.

import { create } from "@bufbuild/protobuf";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { jointSchema, schemaFingerprint } from "../contracts/action.ts";
import { OBS_TRANSFORM_SHA256, OBS_TRANSFORM_VERSION } from "../contracts/obs-transform.ts";
import { SeededRandom } from "../contracts/seeded-random.ts";
import { instant } from "../contracts/units.ts";
import type { Instant } from "../contracts/units.ts";
import { EdgeLink } from "./edge-link.ts";
import type { LinkAnswer } from "./edge-link.ts";
import {
  HelloSchema,
  HostMessageSchema,
  HostStatus_State,
  PolicyFactsSchema,
} from "./generated/policy_pb.js";
import type {
  EdgeMessage,
  Hello,
  HostMessage,
  Observation,
  PolicyFacts,
} from "./generated/policy_pb.js";
import { HostSession } from "./host-session.ts";
import type { Decision } from "./host-session.ts";
import { told } from "./lie.ts";
import { PROTOCOL_VERSION } from "./limits.ts";
import type { Lie } from "./mischief.ts";

export const JOINTS: readonly string[] = ["shoulder", "elbow"];
export const SCHEMA = jointSchema("joint_pos", JOINTS);
export const HORIZON = 4;
export const DT_NS = 20e6;
const transform = {
  obsTransformVersion: OBS_TRANSFORM_VERSION,
  obsTransformSha256: Buffer.from(OBS_TRANSFORM_SHA256, "hex"),
};

export function hello(
  linkSession: bigint,
  change: MessageInitShape<typeof HelloSchema> = {},
): Hello {
  const plain: MessageInitShape<typeof HelloSchema> = {
    protocolVersion: PROTOCOL_VERSION,
    linkSession,
    robot: "two",
    jointNames: [...JOINTS],
    fields: [{ name: "cube_pose", dtype: "float32", shape: [7], unit: "", frame: "base" }],
    ...transform,
  };
  return create(HelloSchema, { ...plain, ...change } as typeof plain);
}

export function facts(change: MessageInitShape<typeof PolicyFactsSchema> = {}): PolicyFacts {
  const plain: MessageInitShape<typeof PolicyFactsSchema> = {
    name: "fixture",
    actionSchema: {
      space: "joint_pos",
      representation: "joint_rad",
      frame: "joint",
      columns: [...JOINTS],
    },
    actionSchemaFingerprint: BigInt(schemaFingerprint(SCHEMA)),
    horizon: HORIZON,
    dtNs: BigInt(DT_NS),
    requiredFields: [],
    ...transform,
  };
  return create(PolicyFactsSchema, { ...plain, ...change } as typeof plain);
}

export type Weather = {
  readonly delayNs: number;
  readonly jitterNs: number;
  /** Share of messages that never arrive, and that arrive twice. */
  readonly lossRatio: number;
  readonly twiceRatio: number;
};

export const CALM: Weather = { delayNs: 1e6, jitterNs: 0, lossRatio: 0, twiceRatio: 0 };

/** What decides on the host. */
export type VirtualHost = {
  reset(epoch: number): void;
  decide(observation: Observation): Decision | null;
};

type Parcel = { readonly dueNs: number; readonly order: number; readonly deliver: () => void };

/** Edge, host and what lies between, in steps of a millisecond of virtual time. */
export class VirtualLink {
  readonly link: EdgeLink;
  readonly answers: LinkAnswer[] = [];
  weather: Weather = CALM;
  /** What the host says of itself; tests change it before a session begins. */
  facts: PolicyFacts = facts();
  versions: Readonly<Record<string, string>> = {};
  inferenceNs = 30e6;
  /** False: every act comes to nothing. */
  decides = true;
  /** Why, when that is so. */
  trouble = "";
  valueRad = 0.5;
  /** How every chunk is made wrong. */
  lie: Lie | undefined;
  /** Until then a host that was asked to serve is still warming up. */
  readyNs = 0;
  readonly observations: Observation[] = [];
  /** The host's process is stopped: it hears nothing and says nothing. */
  isFrozen = false;
  /** Nobody listens. */
  isDown = false;
  nowNs: Instant = instant(0);
  session: HostSession | undefined;
  #parcels: Parcel[] = [];
  #order = 0;
  readonly #random: SeededRandom;

  readonly #host: VirtualHost;

  /** Without a host of its own it answers `valueRad`, in rows of the small robot. */
  constructor(seed: number, host?: VirtualHost, makeHello: (session: bigint) => Hello = hello) {
    this.#random = new SeededRandom(seed);
    this.#host = host ?? { reset: () => undefined, decide: () => this.#constant() };
    this.link = new EdgeLink({
      makeHello: (session) => makeHello(session),
      random: new SeededRandom(seed + 1),
    });
    this.link.start(this.nowNs);
    this.#serve();
  }

  /** Runs until `untilNs`, calling `each` once a millisecond. */
  run(untilNs: number, each: () => void = () => undefined): void {
    while (this.nowNs < untilNs) {
      this.nowNs = instant(this.nowNs + 1e6);
      const due = this.#parcels.filter((parcel) => parcel.dueNs <= this.nowNs);
      this.#parcels = this.#parcels.filter((parcel) => parcel.dueNs > this.nowNs);
      due.sort((a, b) => a.dueNs - b.dueNs || a.order - b.order);
      for (const parcel of due) parcel.deliver();
      this.link.step(this.nowNs);
      each();
      this.#serve();
    }
  }

  /** The connection is cut: both ends hear of it at once. */
  cut(why: string): void {
    this.session = undefined;
    this.#parcels = [];
    this.link.closed(why, this.nowNs);
    this.#serve();
  }

  #serve(): void {
    for (let out = this.link.takeOutput(); out !== undefined; out = this.link.takeOutput()) {
      if (out.kind === "dial") this.#dial();
      else if (out.kind === "hangUp") this.#hangUp();
      else this.#toHost(out.message);
    }
    for (let answer = this.link.takeAnswer(); answer; answer = this.link.takeAnswer()) {
      this.answers.push(answer);
    }
  }

  #dial(): void {
    if (this.isDown) {
      this.#post(1e6, () => this.link.closed("cannot connect", this.nowNs));
      return;
    }
    this.session = new HostSession(this.versions);
    this.#post(this.weather.delayNs, () => this.link.opened(this.nowNs));
  }

  #hangUp(): void {
    this.session = undefined;
  }

  #toHost(message: EdgeMessage): void {
    const { session } = this;
    this.#send(() => {
      if (session === undefined || session !== this.session || this.isFrozen) return;
      session.received(message, this.nowNs);
      this.#serveHost(session);
    });
  }

  #toEdge(session: HostSession, message: HostMessage): void {
    this.#send(() => {
      if (session !== this.session) return;
      this.link.received(message, this.nowNs);
      this.#serve();
    });
  }

  #serveHost(session: HostSession): void {
    for (let out = session.takeOutput(); out !== undefined; out = session.takeOutput()) {
      if (out.kind === "send") {
        if (!this.isFrozen) this.#say(session, out.message);
      } else if (out.kind === "open") {
        session.welcome(this.facts);
        if (this.nowNs < this.readyNs) session.status(HostStatus_State.WARMING_UP, "warming up");
        this.#post(this.readyNs - this.nowNs, () => {
          session.status(HostStatus_State.READY, "");
          this.#serveHost(session);
        });
      } else if (out.kind === "reset") {
        this.#host.reset(out.epoch);
      } else if (out.kind === "act") {
        this.observations.push(out.observation);
        this.#post(this.inferenceNs, () => {
          const decision = this.decides ? this.#host.decide(out.observation) : null;
          session.decided(decision, decision === null ? this.trouble : "", this.nowNs);
          this.#serveHost(session);
        });
      }
    }
  }

  /** Chunks as the host's lie has them; the rest as it is. */
  #say(session: HostSession, message: HostMessage): void {
    const { case: kind, value } = message.message;
    if (kind !== "chunk" || this.lie === undefined) {
      this.#toEdge(session, message);
      return;
    }
    for (const chunk of told(value, this.lie).chunks) {
      this.#toEdge(
        session,
        create(HostMessageSchema, { message: { case: "chunk", value: chunk } }),
      );
    }
  }

  #constant(): Decision {
    const rows = Array.from({ length: HORIZON * JOINTS.length }, () => this.valueRad);
    return { horizon: HORIZON, dtNs: DT_NS, startOffsetNs: undefined, inferenceNs: 1, rows };
  }

  #send(deliver: () => void): void {
    const { delayNs, jitterNs, lossRatio, twiceRatio } = this.weather;
    if (this.#random.next() < lossRatio) return;
    this.#post(delayNs + jitterNs * this.#random.next(), deliver);
    if (this.#random.next() < twiceRatio) {
      this.#post(delayNs + jitterNs * this.#random.next(), deliver);
    }
  }

  #post(delayNs: number, deliver: () => void): void {
    this.#order += 1;
    this.#parcels.push({ dueNs: this.nowNs + delayNs, order: this.#order, deliver });
  }
}
