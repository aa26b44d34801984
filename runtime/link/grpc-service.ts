// The service of `policy.proto` as grpc-js wants it: names, and how a message becomes bytes. A
// message that does not decode ends its stream; decoded bytes are copies, never views of a buffer
// that the transport may use again.

import { fromBinary, toBinary } from "@bufbuild/protobuf";
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import type { MethodDefinition } from "@grpc/grpc-js";
import {
  DescribeReplySchema,
  DescribeRequestSchema,
  EdgeMessageSchema,
  HostMessageSchema,
} from "./generated/policy_pb.js";

/** Stands for bytes that are no message: what a host sends that has gone mad. */
export const GARBAGE = Symbol("garbage");
const GARBAGE_BYTES = Buffer.from("ff".repeat(64), "hex");

const SERVICE = "holdfast.policy.v1.PolicyHost";

function method<I extends DescMessage, O extends DescMessage>(
  name: string,
  request: I,
  reply: O,
  isStream: boolean,
): MethodDefinition<MessageShape<I>, MessageShape<O>> {
  return {
    path: `/${SERVICE}/${name}`,
    requestStream: isStream,
    responseStream: isStream,
    requestSerialize: (value) => Buffer.from(toBinary(request, value)),
    requestDeserialize: (bytes) => fromBinary(request, bytes),
    responseSerialize: (value: unknown) => {
      if (value === GARBAGE) return GARBAGE_BYTES;
      return Buffer.from(toBinary(reply, value as MessageShape<O>));
    },
    responseDeserialize: (bytes) => fromBinary(reply, bytes),
  };
}

export const policyHostService = {
  describe: method("Describe", DescribeRequestSchema, DescribeReplySchema, false),
  run: method("Run", EdgeMessageSchema, HostMessageSchema, true),
} as const;

/** HealthCheckResponse with status SERVING. */
const SERVING_BYTES = Buffer.of(0x08, 0x01);
const asBytes = (bytes: Buffer): Buffer => bytes;

/** `grpc.health.v1.Health/Check`: two bytes need no schema. */
export const healthService = {
  check: {
    path: "/grpc.health.v1.Health/Check",
    requestStream: false,
    responseStream: false,
    requestSerialize: asBytes,
    requestDeserialize: asBytes,
    responseSerialize: asBytes,
    responseDeserialize: asBytes,
  } satisfies MethodDefinition<Buffer, Buffer>,
} as const;

/** The answer to a HealthCheckRequest; undefined for a service that this host has not. */
export function healthOf(request: Buffer): Buffer | undefined {
  const isWhole = request.length === 0; // the server as such
  const isOurs = request[0] === 0x0a && request.subarray(2).toString() === SERVICE;
  return isWhole || isOurs ? SERVING_BYTES : undefined;
}
