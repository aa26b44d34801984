// The standard health check over a real socket, in bytes that were written down from the protocol's
// own text: an orchestrator asks this before it knows anything of ours.

import { expect, test } from "bun:test";
import { Client, credentials, ServerCredentials } from "@grpc/grpc-js";
import { instant } from "../contracts/units.ts";
import { GrpcHost } from "./grpc-host.ts";

const asBytes = (bytes: Buffer): Buffer => bytes;

function check(client: Client, request: Buffer): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const path = "/grpc.health.v1.Health/Check";
  client.makeUnaryRequest(path, asBytes, asBytes, request, (error, reply) => {
    resolve(error === null ? (reply?.toString("hex") ?? "nothing") : `code ${error.code}`);
  });
  return promise;
}

/** HealthCheckRequest: field 1, a text. */
const asking = (service: string): Buffer =>
  Buffer.concat([Buffer.of(0x0a, service.length), Buffer.from(service)]);

test("a host serves, as a whole and by the name of its service, and no other", async () => {
  const { host, port } = await GrpcHost.open("127.0.0.1:0", {
    credentials: ServerCredentials.createInsecure(),
    nowNs: () => instant(0),
    runtimeVersions: {},
    mischief: undefined,
    openPolicy: () => ({ reset: () => undefined, act: () => undefined, close: () => undefined }),
    note: () => undefined,
  });
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  expect(await check(client, Buffer.alloc(0))).toBe("0801");
  expect(await check(client, asking("holdfast.policy.v1.PolicyHost"))).toBe("0801");
  expect(await check(client, asking("another.Service"))).toBe("code 5");
  client.close();
  host.close();
});
