// Where a link may lead: what reads as an address, which addresses are this machine alone, and
// what is no address at all.

import { expect, test } from "bun:test";
import { isRemote, parseAddress, parseDialAddress } from "./address.ts";

test.each([
  ["127.0.0.1:7777", "127.0.0.1:7777", true],
  ["grpc://127.0.0.1:7777", "127.0.0.1:7777", true],
  ["grpc://localhost", "localhost:7777", true],
  ["[::1]:9", "[::1]:9", true],
  ["127.8.9.10:1", "127.8.9.10:1", true],
  ["gpu.lan:50051", "gpu.lan:50051", false],
  ["10.0.0.7", "10.0.0.7:7777", false],
  ["0.0.0.0:7777", "0.0.0.0:7777", false],
  ["[::]:7777", "[::]:7777", false],
  ["127.evil.org:1", "127.evil.org:1", false],
])("%s dials %s", (text, target, isLoopback) => {
  expect(parseAddress(text)).toMatchObject({ target, isLoopback });
});

test.each(["", "grpc://", "a:b", "host:99999", "host:1:2", "[nonsense]:1", "a b:1", "h/p:1"])(
  "%p is no address",
  (text) => {
    expect(parseAddress(text)).toBeUndefined();
  },
);

test("nobody listens at port 0, so none is dialled", () => {
  expect([parseAddress("h:0")?.port, parseDialAddress("h:0")]).toEqual([0, undefined]);
  expect(parseDialAddress("grpc://h:1")).toEqual(parseAddress("h:1"));
});

test("only the scheme makes a policy remote", () => {
  expect(isRemote("grpc://h:1")).toBe(true);
  expect(isRemote("./grpc.ts")).toBe(false);
});
