// A policy host among strangers: 200 connections that say nothing, 100 that begin a TLS handshake
// and leave it, and a megabyte of junk, while it serves a robot. That is served on without a gap, a
// second one comes, and every stranger is ended. The same over mutual TLS, where handshakes mean
// something, is in `runtime/link/grpc-mutual-tls.test.ts`.

import { afterEach, expect, test } from "bun:test";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { unexplainedGaps } from "./held-up.ts";
import { beside, hears, running } from "./link-course.ts";
import { HostProcess, killHosts, LinkRig, WINDOW_NS } from "./link-rig.ts";

const strangers = new Set<Socket>();
/** While it holds, who said nothing and was ended for it comes again. */
let isCrowded = false;
afterEach(async () => {
  isCrowded = false;
  for (const socket of strangers) socket.destroy();
  await killHosts();
});

/** Says this to the host and nothing more, until the host ends it. */
function come(port: number, word: Buffer): void {
  const socket = connect(port, "127.0.0.1", () => socket.write(word));
  strangers.add(socket);
  socket.on("error", () => undefined);
  socket.on("close", () => {
    strangers.delete(socket);
    if (isCrowded && word === NOTHING) come(port, word);
  });
  socket.resume();
}

const NOTHING = Buffer.alloc(0);
/** The header of a ClientHello of 512 bytes. */
const HALF_HANDSHAKE = Buffer.from("160301020001", "hex");
const JUNK = Buffer.alloc(1 << 20, "holdfast");

/** Its policy answers within milliseconds; a crowd may not change that. */
const STEADY = {
  periodNs: 5e6,
  windowNs: WINDOW_NS,
  answerNsMax: 50e6,
  pauseNsMax: 50e6,
  forgivesAnswers: false,
};
const PATIENCE_MS = 30_000;

test("a host in a crowd of strangers serves its robots, and ends every stranger", async () => {
  const host = await HostProcess.start(["--policy", "sine"]);
  const rig = await LinkRig.open(host.port);
  await running(rig);
  const accepted = rig.acceptedCount;
  isCrowded = true;
  for (let count = 0; count < 200; count += 1) come(host.port, NOTHING);
  for (let count = 0; count < 100; count += 1) come(host.port, HALF_HANDSHAKE);
  come(host.port, JUNK);
  let second: LinkRig | undefined;
  await beside(rig, async () => {
    second = await LinkRig.open(host.port);
    await running(second);
  });
  expect(strangers.size).toBeGreaterThanOrEqual(200);
  isCrowded = false;
  await rig.until(() => strangers.size === 0, PATIENCE_MS);
  expect(strangers.size).toBe(0);
  expect(unexplainedGaps(rig.records, STEADY)).toEqual([]);
  expect([hears(rig, /^connected$/)(), rig.acceptedCount > accepted + 40]).toEqual([true, true]);
  expect(host.child.exitCode).toBeNull();
  second?.close();
  rig.close();
}, 60_000);
