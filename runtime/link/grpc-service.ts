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

/** The name that a health check asks by. */
export const POLICY_SERVICE = "holdfast.policy.v1.PolicyHost";

function method<I extends DescMessage, O extends DescMessage>(
  name: string,
  request: I,
  reply: O,
  isStream: boolean,
): MethodDefinition<MessageShape<I>, MessageShape<O>> {
  return {
    path: `/${POLICY_SERVICE}/${name}`,
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
