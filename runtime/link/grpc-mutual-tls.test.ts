// Who gets in over mutual TLS, on real sockets: a paired robot to its host, and in every other case
// a refusal that says what to do. Odd certificates are made here, with the library itself.

import { afterEach, expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http2";
import { connect as connectTcp } from "node:net";
import { connect, createServer as createTlsServer } from "node:tls";
import { create } from "@bufbuild/protobuf";
import { Client } from "@grpc/grpc-js";
import {
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from "@peculiar/x509";
import { SeededRandom } from "../contracts/seeded-random.ts";
import { instant } from "../contracts/units.ts";
import { parseAddress } from "./address.ts";
import { EdgeLink } from "./edge-link.ts";
import { facts, hello } from "./fixture.ts";
import { DescribeRequestSchema, HostStatus_State } from "./generated/policy_pb.js";
import { GrpcEdge } from "./grpc-edge.ts";
import { healthService } from "./grpc-health.ts";
import { GrpcHost } from "./grpc-host.ts";
import { policyHostService } from "./grpc-service.ts";
import { probeTls } from "./grpc-tls-probe.ts";
import type { PairedHost } from "./pair-store.ts";
import { makeIdentity, makeRequest, signRequest } from "./tls-authority.ts";
import { certificateFingerprint, HOST_TLS_NAME } from "./tls-certificates.ts";
import type { HostIdentity, KeyPair } from "./tls-certificates.ts";
import { HostCredentials, robotCredentials } from "./tls-trust.ts";

const NOW_MS = Date.UTC(2030, 0, 1);
const ours = await makeIdentity();
const theirs = await makeIdentity();
const robot = await paired(ours);
const closers: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function paired({ authority, host }: HostIdentity): Promise<PairedHost> {
  const { key, request } = await makeRequest();
  return {
    name: "127.0.0.1",
    fingerprint: certificateFingerprint(host.certificate),
    isRevoked: false,
    authority: authority.certificate,
    certificate: await signRequest(authority, request),
    key,
  };
}

type Odd = {
  readonly name?: string;
  readonly usage?: ExtendedKeyUsage;
  readonly years?: [number, number];
};

/** A certificate that our authority signed and that is wrong in one way. */
async function odd({
  name = HOST_TLS_NAME,
  usage = ExtendedKeyUsage.serverAuth,
  years = [2020, 2046],
}: Odd): Promise<KeyPair> {
  const signing = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
  const keys = await crypto.subtle.generateKey(signing, true, ["sign", "verify"]);
  const encoded = PemConverter.decodeFirst(ours.authority.key);
  const certificate = await X509CertificateGenerator.create({
    issuer: "CN=holdfast authority",
    subject: `CN=${name}`,
    notBefore: new Date(Date.UTC(years[0], 0, 1)),
    notAfter: new Date(Date.UTC(years[1], 0, 1)),
    publicKey: keys.publicKey,
    signingKey: await crypto.subtle.importKey("pkcs8", encoded, signing, false, ["sign"]),
    signingAlgorithm: signing,
    extensions: [
      new ExtendedKeyUsageExtension([usage], true),
      new SubjectAlternativeNameExtension([{ type: "dns", value: name }]),
    ],
  });
  const key = PemConverter.encode(
    await crypto.subtle.exportKey("pkcs8", keys.privateKey),
    "PRIVATE KEY",
  );
  return { key, certificate: certificate.toString("pem") };
}

class Served {
  readonly revoked = new Set<string>();
  readonly notes: string[] = [];
  host!: GrpcHost;
  port = 0;

  static async open(host: KeyPair = ours.host): Promise<Served> {
    const served = new Served();
    const opened = await GrpcHost.open("127.0.0.1:0", {
      credentials: new HostCredentials({ authority: ours.authority, host }),
      admits: (fingerprint) => !served.revoked.has(fingerprint),
      nowNs: () => instant(0),
      runtimeVersions: {},
      mischief: undefined,
      openPolicy: (_hello, events) => {
        events.made(facts());
        events.status(HostStatus_State.READY, "");
        return { reset: () => undefined, act: () => undefined, close: () => undefined };
      },
      note: (text) => served.notes.push(text),
    });
    served.host = opened.host;
    served.port = opened.port;
    closers.push(() => opened.host.close());
    return served;
  }

  /** What a person at the robot is told; undefined when all is well. */
  async told(
    as: PairedHost = robot,
    isRevoked = false,
    wallMs = NOW_MS,
  ): Promise<string | undefined> {
    const address = parseAddress(`127.0.0.1:${this.port}`)!;
    const trouble = await probeTls(
      address,
      as,
      () => isRevoked,
      () => wallMs,
    );
    return trouble && `expected ${trouble.expected}, found ${trouble.found}`;
  }

  /** A link to this host, and a way to serve it until a question is answered with yes. */
  dial(as: PairedHost = robot, isRevoked: () => boolean = () => false) {
    const link = new EdgeLink({
      makeHello: (session) => hello(session),
      random: new SeededRandom(1),
    });
    let nowNs = instant(0);
    const edge = new GrpcEdge(link, {
      target: `127.0.0.1:${this.port}`,
      credentials: robotCredentials(as, isRevoked),
      tlsName: HOST_TLS_NAME,
      nowNs: () => nowNs,
      onAnswer: () => undefined,
    });
    closers.push(() => edge.close());
    link.start(nowNs);
    const until = async (question: () => boolean): Promise<void> => {
      while (!question()) {
        nowNs = instant(nowNs + 1e6);
        edge.pump();
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    return { link, until };
  }
}

test("what pairing makes is good from 2020 to 2046, whatever day it is made", () => {
  const made = [ours.authority.certificate, ours.host.certificate, robot.certificate];
  for (const certificate of made) {
    const { validFrom, validTo } = new X509Certificate(certificate);
    expect([Date.parse(validFrom), Date.parse(validTo)]).toEqual([
      Date.UTC(2020, 0, 1),
      Date.UTC(2046, 0, 1),
    ]);
  }
  const { subjectAltName } = new X509Certificate(ours.host.certificate);
  expect(subjectAltName).toBe("DNS:host.holdfast.internal");
});

test("a paired robot and its host shake hands, and the link is ready", async () => {
  const served = await Served.open();
  expect(await served.told()).toBeUndefined();
  const { link, until } = served.dial();
  await until(() => link.phase === "ready");
  expect(link.text).toBe("connected");
});

const expected = (what: string, found: string): string => `expected ${what}, found ${found}`;
const again = "pair again: on the host type holdfast pair host";
const foreign = expected(
  `the host that this robot is paired with (if it is, ${again})`,
  "the certificate of another authority",
);
const misnamed = expected(
  `a certificate of a policy host (${again})`,
  "one that is for something else",
);
const time = expected(
  `a certificate from 2020 to 2046 (${again})`,
  "one of another time, and a clock here that says 2030-01-01 00:00",
);

test.each<[string, () => Promise<KeyPair>, string]>([
  ["of another authority", () => Promise.resolve(theirs.host), foreign],
  ["of another name", () => odd({ name: "evil.lan" }), misnamed],
  ["that is a robot's", () => odd({ usage: ExtendedKeyUsage.clientAuth }), misnamed],
  ["of the future", () => odd({ years: [2100, 2110] }), time],
  ["of the past", () => odd({ years: [2000, 2001] }), time],
])("a robot refuses a host with a certificate %s", async (_what, host, message) => {
  const served = await Served.open(await host());
  expect(await served.told()).toBe(message);
  const { link, until } = served.dial();
  await until(() => link.text.includes("cannot connect"));
  expect(served.notes).toEqual([]);
});

test("a certificate out of its time, at a clock that is wrong, names the clock", async () => {
  const served = await Served.open(await odd({ years: [2100, 2110] }));
  expect(await served.told(robot, false, 0)).toBe(
    "expected a clock between 2020 and 2046 (set this machine's: timedatectl set-time), " +
      "found one that says 1970-01-01 00:00",
  );
});

test("a robot refuses a host that was revoked on it, also later in a run", async () => {
  const served = await Served.open();
  expect(await served.told(robot, true)).toBe(
    expected(
      `a host that was not revoked here (${again})`,
      "one that was, by holdfast pair revoke",
    ),
  );
  let isRevoked = false;
  const { link, until } = served.dial(robot, () => isRevoked);
  await until(() => link.phase === "ready");
  isRevoked = true;
  served.revoked.add(certificateFingerprint(robot.certificate));
  served.host.recheck();
  await until(() => link.text.includes("cannot connect"));
});

test("a host refuses a robot that is revoked, at once and at its next session", async () => {
  const served = await Served.open();
  const live = served.dial();
  await live.until(() => live.link.phase === "ready");
  served.host.recheck();
  expect(live.link.phase).toBe("ready");
  served.revoked.add(certificateFingerprint(robot.certificate));
  served.host.recheck();
  await live.until(() => live.link.refusal !== undefined);
  const next = served.dial();
  await next.until(() => next.link.refusal !== undefined);
  for (const { link } of [live, next]) {
    expect(link.refusal).toMatchObject({
      field: "certificate",
      expected: "that of a paired robot",
      found: "one that was revoked, or removed from this host's list",
      remedy: again,
    });
  }
  // Both are counted, the one that never said its name too, and neither is connected.
  const robots = [...served.host.counts().values()];
  const refusals = robots.map(({ counts }) => counts.refusals.get("certificate") ?? 0);
  expect(robots.length).toBe(2);
  expect(Math.min(...refusals)).toBeGreaterThan(0);
  expect(robots.map(({ connectedCount }) => connectedCount)).toEqual([0, 0]);
});

const REVOKED = expect.stringMatching(/^16 UNAUTHENTICATED: /);

test("a revoked robot may not even ask what the host is, or how it is", async () => {
  const served = await Served.open();
  const name = { "grpc.ssl_target_name_override": HOST_TLS_NAME };
  const trust = robotCredentials(robot, () => false);
  const client = new Client(`127.0.0.1:${served.port}`, trust, name);
  closers.push(() => client.close());
  const described = (): Promise<string> => {
    const { path, requestSerialize, responseDeserialize } = policyHostService.describe;
    const request = create(DescribeRequestSchema);
    return new Promise((resolve) => {
      client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, (error) =>
        resolve(error === null ? "told" : error.message),
      );
    });
  };
  const { check, watch } = healthService;
  const { requestSerialize: asBytes } = check;
  const checked = (): Promise<string> =>
    new Promise((resolve) => {
      client.makeUnaryRequest(check.path, asBytes, asBytes, Buffer.alloc(0), (error) =>
        resolve(error === null ? "told" : error.message),
      );
    });
  const watching = () => {
    const call = client.makeServerStreamRequest(watch.path, asBytes, asBytes, Buffer.alloc(0));
    const first = Promise.withResolvers<string>();
    const ended = Promise.withResolvers<string>();
    call.on("data", () => first.resolve("told"));
    call.on("error", (error: Error) => {
      first.resolve(error.message);
      ended.resolve(error.message);
    });
    return { first: first.promise, ended: ended.promise };
  };
  const watched = watching();
  expect(await Promise.all([described(), checked(), watched.first])).toEqual([
    "told",
    "told",
    "told",
  ]);
  served.revoked.add(certificateFingerprint(robot.certificate));
  expect(await Promise.all([described(), checked(), watching().first])).toEqual([
    REVOKED,
    REVOKED,
    REVOKED,
  ]);
  served.host.recheck();
  expect(await watched.ended).toEqual(REVOKED);
});

const refused = expected(
  `a certificate that the host takes, and a right clock there (${again})`,
  "that the host refused this robot's",
);

test.each<[string, () => Promise<Partial<PairedHost>>]>([
  ["of another host", async () => ({ ...(await paired(theirs)), authority: robot.authority })],
  ["that is a host's", () => Promise.resolve(ours.host)],
  ["of the future", () => odd({ usage: ExtendedKeyUsage.clientAuth, years: [2100, 2110] })],
])("a host refuses a robot with a certificate %s, which is told so", async (_what, change) => {
  const served = await Served.open();
  const as = { ...robot, ...(await change()) };
  expect(await served.told(as)).toBe(refused);
  const { link, until } = served.dial(as);
  await until(() => link.session > 1);
  expect(link.facts).toBeUndefined();
  expect(served.notes).toEqual([]);
});

/** How a bare TLS client fares: "in" once the host speaks HTTP/2 to it. */
async function fares(port: number, options: object): Promise<string> {
  const socket = connect({ port, host: "127.0.0.1", servername: HOST_TLS_NAME, ...options });
  return new Promise((resolve) => {
    socket.on("data", () => resolve("in"));
    socket.on("error", (error: Error & { code?: string }) => resolve(error.code ?? error.message));
    socket.on("close", () => resolve("closed"));
  }).finally(() => socket.destroy()) as Promise<string>;
}

test("nobody gets in without a certificate, or with an older TLS", async () => {
  const { port } = await Served.open();
  const { authority: ca, certificate: cert, key } = robot;
  const h2 = { ALPNProtocols: ["h2"], ca };
  expect(await fares(port, { ...h2, cert, key })).toBe("in");
  expect(await fares(port, h2)).toBe("ERR_SSL_TLSV1_ALERT_CERTIFICATE_REQUIRED");
  const old = { minVersion: "TLSv1.2", maxVersion: "TLSv1.2" };
  expect(await fares(port, { ...h2, cert, key, ...old })).toBe(
    "ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION",
  );
});

test("a host that speaks no TLS is told from one that is not there", async () => {
  const plain = createServer();
  plain.listen(0, "127.0.0.1");
  await once(plain, "listening");
  closers.push(() => void plain.close());
  const served = new Served();
  served.port = (plain.address() as { port: number }).port;
  expect(await served.told()).toBe(
    expected(
      "a host that speaks TLS: there type holdfast host --listen 0.0.0.0:7777",
      "one that does not",
    ),
  );
  served.port = 1;
  expect(await served.told()).toBeUndefined();
});

test("a host of an older TLS is refused", async () => {
  const { key, certificate: cert } = ours.host;
  const old = createTlsServer({ key, cert, maxVersion: "TLSv1.2", ALPNProtocols: ["h2"] });
  old.listen(0, "127.0.0.1");
  await once(old, "listening");
  closers.push(() => void old.close());
  const served = new Served();
  served.port = (old.address() as { port: number }).port;
  const { link, until } = served.dial();
  await until(() => link.text.includes("cannot connect"));
});

/** Waits for what must happen, however long the machine takes: a host gives a stranger 5 s. */
test("a hundred handshakes that are begun and left are ended, and keep no robot out", async () => {
  const served = await Served.open();
  // The header of a ClientHello of 512 bytes; every other one does not even say that.
  const word = Buffer.from("160301020001", "hex");
  const ends = Array.from({ length: 100 }, (_, at) => {
    const socket = connectTcp(served.port, "127.0.0.1").resume();
    if (at % 2 === 0) socket.write(word);
    socket.on("error", () => undefined);
    return once(socket, "close");
  });
  expect(await served.told()).toBeUndefined();
  await Promise.all(ends);
  expect(await served.told()).toBeUndefined();
}, 60_000);
