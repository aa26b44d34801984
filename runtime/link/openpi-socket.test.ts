// What a connection that was given up still says is dropped: the next one has begun, and an answer
// of the old one would be taken for its own.

import { afterEach, expect, test } from "bun:test";
import vectors from "../../firmware-tests/vectors/openpi.json" with { type: "json" };
import { SeededRandom } from "../contracts/seeded-random.ts";
import { instant } from "../contracts/units.ts";
import { OpenpiSession } from "./openpi-session.ts";
import type { OpenpiAnswer } from "./openpi-session.ts";
import { OpenpiSocket } from "./openpi-socket.ts";

class FakeSocket extends EventTarget {
  binaryType = "";
  isTerminated = false;
  readonly sent: Uint8Array[] = [];

  send(bytes: Uint8Array): void {
    this.sent.push(bytes);
  }
  terminate(): void {
    this.isTerminated = true;
  }
  say(data: ArrayBuffer | string): void {
    this.dispatchEvent(new MessageEvent("message", { data }));
  }
}

const realSocket = globalThis.WebSocket;
afterEach(() => {
  globalThis.WebSocket = realSocket;
});

test("an old connection's answer, error and end are nothing to the new one", () => {
  const sockets: FakeSocket[] = [];
  globalThis.WebSocket = function makeSocket() {
    const socket = new FakeSocket();
    sockets.push(socket);
    return socket;
  } as never;
  const session = new OpenpiSession(new SeededRandom(1));
  const answers: OpenpiAnswer[] = [];
  let nowNs = instant(0);
  const socket = new OpenpiSocket(session, {
    target: "127.0.0.1:8000",
    nowNs: () => nowNs,
    onAnswer: (answer) => answers.push(answer),
  });
  const greet = (fake: FakeSocket): void => {
    fake.dispatchEvent(new Event("open"));
    fake.say(Uint8Array.from(Buffer.from(vectors.no_metadata, "hex")).buffer);
  };
  const answer = Uint8Array.from(Buffer.from(vectors.answer_float32, "hex")).buffer;

  session.start(nowNs);
  socket.pump();
  const [old] = sockets;
  greet(old!);
  expect(session.phase).toBe("ready");
  session.request(Uint8Array.of(1), instant(100e6));
  nowNs = instant(100e6);
  socket.pump();
  expect(old!.isTerminated).toBe(true);

  nowNs = instant(200e6);
  socket.pump();
  const fresh = sockets[1]!;
  greet(fresh);
  session.request(Uint8Array.of(2), instant(400e6));
  socket.pump();
  expect(fresh.sent).toEqual([Uint8Array.of(2)]);
  old!.say(answer);
  old!.say("Traceback");
  old!.dispatchEvent(new CloseEvent("close", { code: 1006 }));
  expect([session.phase, session.isBusy, answers.length]).toEqual(["ready", true, 1]);

  fresh.say(answer);
  expect(answers[1]).toMatchObject({ requestId: 2, actions: { shape: [2, 3] } });
  fresh.dispatchEvent(new CloseEvent("close", { code: 1011, reason: "bye" }));
  expect(session.trouble).toBe("the connection was closed (code 1011, bye)");
  socket.close();
});
