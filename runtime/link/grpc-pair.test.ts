// Pairing over real TLS on this machine: who is paired, who is refused and with what words, and
// that neither strangers nor nonsense harm the one who waits. Time is the test's own; nothing
// sleeps but what waits for a socket.

import { afterEach, expect, test } from "bun:test";
import { once } from "node:events";
import { connect as connectPlain } from "node:net";
import type { Socket } from "node:net";
import { connect, createServer } from "node:tls";
import type { TLSSocket } from "node:tls";
import { PemConverter } from "@peculiar/x509";
import { SeededRandom } from "../contracts/seeded-random.ts";
import { instant } from "../contracts/units.ts";
import type { LinkAddress } from "./address.ts";
import { parseAddress } from "./address.ts";
import { PairHost } from "./grpc-pair-host.ts";
import { pairWithHost } from "./grpc-pair-robot.ts";
import { codeKey, proofOf } from "./pair-code.ts";
import type { PairedRobot } from "./pair-store.ts";
import { makeIdentity, makeRequest } from "./tls-authority.ts";
import { certificateFingerprint } from "./tls-certificates.ts";

const random = new SeededRandom(1);
const CODE = "ABCD-EFGH";
const WRONG = "ABCD-EFGJ";
const identity = await makeIdentity();
const strangers = await makeIdentity();

class Desk {
  host!: PairHost;
  readonly kept: PairedRobot[] = [];
  readonly notes: string[] = [];
  /** Seconds since the code was made; each connection is in a second of its own. */
  nowS = 0;

  static async open(code = CODE): Promise<Desk> {
    const desk = new Desk();
    desk.host = await PairHost.open({
      host: "127.0.0.1",
      port: 0,
      code,
      identity,
      nowNs: () => instant(desk.nowS * 1e9),
      nameOf: (wished) => `${wished}-here`,
      keep: (robot) => desk.kept.push(robot),
      note: (text) => desk.notes.push(text),
    });
    toClose.push(() => desk.host.close());
    return desk;
  }

  get address(): LinkAddress {
    return parseAddress(`127.0.0.1:${this.host.port}`)!;
  }

  /** The words of a refusal, or "paired". */
  pair(code: string, address = this.address): Promise<string> {
    this.nowS += 1;
    return pairWithHost({ address, code, name: "arm" }).then(
      () => "paired",
      (error: Error) => error.message.replace(/^Cannot pair with [\d.:]+: expected /, ""),
    );
  }
}

const toClose: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of toClose.splice(0)) await close();
});

test("robot and host end with the same keys, and the host signed the robot's", async () => {
  const desk = await Desk.open();
  const paired = await pairWithHost({ address: desk.address, code: CODE, name: "arm" });
  expect(paired.host).toMatchObject({
    name: "127.0.0.1",
    fingerprint: certificateFingerprint(identity.host.certificate),
    isRevoked: false,
    authority: identity.authority.certificate,
  });
  expect(paired.robotName).toBe("arm-here");
  expect(certificateFingerprint(paired.host.certificate)).toBe(paired.robotFingerprint);
  const robot = { name: "arm-here", fingerprint: paired.robotFingerprint, isRevoked: false };
  expect(desk.kept).toEqual([robot]);
  expect(desk.host.paired).toEqual(robot);
});

test("the third wrong code voids the code, and a right one comes too late", async () => {
  const desk = await Desk.open();
  const wrong = "the code that the host shows now, found another: look again and type it anew";
  expect(await desk.pair(WRONG)).toBe(`${wrong}, 2 left`);
  expect(await desk.pair(WRONG)).toBe(`${wrong}, 1 left`);
  const voided =
    "a code without three wrong tries: on the host type holdfast pair host for a new one, " +
    "found one that is void";
  expect(await desk.pair(WRONG)).toBe(voided);
  expect(await desk.pair(CODE)).toBe(voided);
  expect(desk.kept).toEqual([]);
});

test("a code that has paired a robot pairs no other", async () => {
  const desk = await Desk.open();
  expect(await desk.pair(CODE)).toBe("paired");
  expect(await desk.pair(CODE)).toBe(
    "a code that nobody has used: on the host type holdfast pair host for a new one, " +
      "found one that has paired a robot",
  );
  expect(desk.kept).toHaveLength(1);
});

test("a code of five minutes ago is refused, and says so", async () => {
  const desk = await Desk.open();
  desk.nowS = 299;
  expect(await desk.pair(CODE)).toBe(
    "a code of the last 5 minutes: on the host type holdfast pair host for a new one, " +
      "found one that has expired",
  );
  expect(desk.kept).toEqual([]);
});

test("a listener that is gone says what to do", async () => {
  const desk = await Desk.open();
  await desk.host.close();
  expect(await desk.pair(CODE, parseAddress("127.0.0.1:1")!)).toBe(
    "a host that waits for a robot (there type holdfast pair host; a code works once, " +
      "5 minutes), found ECONNREFUSED at 127.0.0.1:1",
  );
});

/** Somebody between robot and host, with a certificate of their own. */
async function between(serve: (robot: TLSSocket) => void): Promise<LinkAddress> {
  const { key, certificate } = strangers.host;
  const server = createServer({ key, cert: certificate }, (robot) => {
    robot.on("error", () => robot.destroy());
    serve(robot);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  toClose.push(() => void server.close());
  const { port } = server.address() as { readonly port: number };
  return parseAddress(`127.0.0.1:${port}`)!;
}

test("whoever stands between and passes all on is taken for a wrong code", async () => {
  const desk = await Desk.open();
  const address = await between((robot) => {
    const host = connect({ port: desk.host.port, host: "127.0.0.1", rejectUnauthorized: false });
    host.on("error", () => robot.destroy());
    robot.pipe(host).pipe(robot);
  });
  expect(await desk.pair(CODE, address)).toEndWith("type it anew, 2 left");
  expect(desk.kept).toEqual([]);
});

test("whoever grants without knowing the code is not believed", async () => {
  const desk = await Desk.open();
  const address = await between((robot) => {
    let said = "";
    robot.on("data", (bytes: Buffer) => {
      said += bytes.toString();
      if (said.split("\n").length === 2) robot.write('{"nonce":"x"}\n');
      if (said.split("\n").length < 3) return;
      const { certificate } = strangers.host;
      const { certificate: authority } = strangers.authority;
      const proof = proofOf(Buffer.alloc(32), "host", ["arm", authority, certificate]);
      robot.end(`${JSON.stringify({ name: "arm", authority, certificate, proof })}\n`);
    });
  });
  expect(await desk.pair(CODE, address)).toBe(
    "a host that knows the code, found one that does not: not paired",
  );
});

/** What the host answers to these lines; empty when it hangs up without a word. */
async function answerTo(desk: Desk, text: string | Uint8Array): Promise<string> {
  desk.nowS += 1;
  const socket = connect({ port: desk.host.port, host: "127.0.0.1", rejectUnauthorized: false });
  let answer = "";
  socket.on("data", (bytes: Buffer) => {
    answer += bytes.toString();
  });
  socket.on("error", () => socket.destroy());
  await once(socket, "secureConnect");
  socket.write(text);
  await once(socket, "close");
  return answer;
}

test("nonsense is refused and counts as no try", async () => {
  const desk = await Desk.open();
  const { request } = await makeRequest();
  const hello = { version: 1, nonce: "n", name: "arm", request };
  const bytes = new Uint8Array(PemConverter.decodeFirst(request));
  bytes[bytes.length - 1]! ^= 1; // of its signature
  const forged = PemConverter.encode(bytes, "CERTIFICATE REQUEST");
  const nonsense = [
    "GET / HTTP/1.1\r\n\r\n",
    "{}\n",
    `${JSON.stringify({ ...hello, version: 9 })}\n`,
    `${JSON.stringify({ ...hello, request: "no request" })}\n`,
    `${JSON.stringify({ ...hello, request: forged })}\n`,
    `${JSON.stringify(hello)}\n{"proof":7}\n`,
    "x".repeat(100_000),
    Uint8Array.from({ length: 5_000 }, () => random.next() * 256),
  ];
  for (const text of nonsense) {
    expect(await answerTo(desk, text)).toContain('{"refusal":"malformed","leftTryCount":3}\n');
  }
  expect(await desk.pair(CODE)).toBe("paired");
});

test("a proof that was heard once is worth nothing in another exchange", async () => {
  const desk = await Desk.open();
  const { request } = await makeRequest();
  const hello = JSON.stringify({ version: 1, nonce: "n", name: "arm", request });
  const stale = await codeKey(CODE, {
    robotNonce: "n",
    hostNonce: "of another exchange",
    robotFingerprint: "SHA256:x",
    hostFingerprint: certificateFingerprint(identity.host.certificate),
    robotName: "arm",
  });
  const answer = await answerTo(desk, `${hello}\n{"proof":"${proofOf(stale, "robot", [])}"}\n`);
  expect(answer).toEndWith('{"refusal":"wrong_code","leftTryCount":2}\n');
});

function silent(desk: Desk): Promise<Socket> {
  const socket = connectPlain(desk.host.port, "127.0.0.1");
  socket.on("error", () => socket.destroy());
  socket.resume();
  toClose.push(() => void socket.destroy());
  return once(socket, "connect").then(() => socket);
}

test("a crowd that says nothing does not keep the robot out", async () => {
  const desk = await Desk.open();
  const crowd: Socket[] = [];
  for (let count = 0; count < 30; count += 1) {
    desk.nowS += 1;
    crowd.push(await silent(desk));
  }
  // The newest eight are left; the others were let go as they came.
  for (const socket of crowd.slice(0, -8)) if (!socket.closed) await once(socket, "close");
  expect(crowd.filter((socket) => !socket.closed)).toHaveLength(8);
  for (const socket of crowd.slice(-4)) socket.write("\0\0\0 no TLS at all");
  expect(await desk.pair(CODE)).toBe("paired");
});

test("more than twenty connections in one second are not served", async () => {
  const desk = await Desk.open();
  desk.nowS = 1;
  for (let count = 0; count < 20; count += 1) await silent(desk);
  const flooded = await pairWithHost({ address: desk.address, code: CODE, name: "arm" }).catch(
    (error: Error) => error.message,
  );
  expect(flooded).toContain("expected a host that waits for a robot");
  expect(await desk.pair(CODE)).toBe("paired");
});

test("what a host tells of an exchange holds neither the code nor a key", async () => {
  const desk = await Desk.open();
  const messages = [await desk.pair(WRONG), await desk.pair(CODE), ...desk.notes];
  const text = JSON.stringify(messages);
  for (const secret of [CODE, WRONG, "ABCDEFGH", "ABCDEFGJ", "PRIVATE KEY"]) {
    expect(text).not.toContain(secret);
  }
  expect(desk.notes).toEqual(["a robot was refused: wrong_code, 2 tries left"]);
});
