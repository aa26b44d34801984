// The other process of `holdfast bench link`: a policy host whose policy takes no time, and beside
// it a bare grpc-js stream that gives back as many bytes. Ends with its standard input.

import { create } from "@bufbuild/protobuf";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import type { MethodDefinition, ServerDuplexStream } from "@grpc/grpc-js";
import { decodeJpeg } from "../../hal/jpeg.ts";
import { jointSchema, schemaFingerprint } from "../contracts/action.ts";
import {
  OBS_SIDE_PX,
  OBS_TRANSFORM_SHA256,
  OBS_TRANSFORM_VERSION,
} from "../contracts/obs-transform.ts";
import { duration } from "../contracts/units.ts";
import {
  HostStatus_State,
  Image_Encoding,
  PolicyFactsSchema,
} from "../link/generated/policy_pb.js";
import type { Observation, PolicyFacts } from "../link/generated/policy_pb.js";
import { GrpcHost } from "../link/grpc-host.ts";
import type { HostPolicyEvents } from "../link/grpc-host.ts";
import { sessionOrigin, SystemClock } from "../workers/system-clock.ts";

/** Joints of the bench's robot: position, velocity and two more are 16 numbers. */
export const BENCH_JOINTS: readonly string[] = ["a", "b", "c", "d", "e", "f", "g"];
export const BENCH_HORIZON = 50;
const BENCH_DT_NS = 20e6;

const bytes = (value: Buffer): Buffer => value;
/** As many bytes there and back as the policy link's, and nothing else. */
export const echoMethod: MethodDefinition<Buffer, Buffer> = {
  path: "/holdfast.bench.Echo/Run",
  requestStream: true,
  responseStream: true,
  requestSerialize: bytes,
  requestDeserialize: bytes,
  responseSerialize: bytes,
  responseDeserialize: bytes,
};
export const ECHO_REPLY_SIZE_BYTES = BENCH_HORIZON * BENCH_JOINTS.length * 4;

/** Where the two listen; one line of JSON on standard output. */
export type BenchLinkReady = { readonly port: number; readonly echoPort: number };

export async function runBenchLinkHost(): Promise<void> {
  const clock = new SystemClock(sessionOrigin(), duration(0), { stopped: false });
  const { port } = await GrpcHost.open("127.0.0.1:0", {
    credentials: ServerCredentials.createInsecure(),
    nowNs: () => clock.nowNs(),
    runtimeVersions: {},
    mischief: undefined,
    openPolicy: (_hello, events) => instantPolicy(events),
    note: () => undefined,
  });
  const ready: BenchLinkReady = { port, echoPort: await openEcho() };
  process.stdout.write(`${JSON.stringify(ready)}\n`);
  process.stdin.on("end", () => process.exit(0));
  process.stdin.resume();
}

function instantPolicy(events: HostPolicyEvents) {
  const rows = Array.from({ length: BENCH_HORIZON * BENCH_JOINTS.length }, () => 0.5);
  const decision = {
    horizon: BENCH_HORIZON,
    dtNs: BENCH_DT_NS,
    startOffsetNs: undefined,
    rows,
    inferenceNs: 0,
  };
  queueMicrotask(() => {
    events.made(benchFacts());
    events.status(HostStatus_State.READY, "");
  });
  return {
    reset: () => undefined,
    act: (observation: Observation) => {
      if (observation.images.every(({ encoding }) => encoding !== Image_Encoding.JPEG)) {
        events.decided(decision, "");
      } else void decodeAll(observation).then(() => events.decided(decision, ""));
    },
    close: () => undefined,
  };
}

const decodeAll = ({ images }: Observation): Promise<unknown> =>
  Promise.all(images.map(({ pixels }) => decodeJpeg(pixels, OBS_SIDE_PX, OBS_SIDE_PX)));

function benchFacts(): PolicyFacts {
  const schema = jointSchema("joint_pos", BENCH_JOINTS);
  return create(PolicyFactsSchema, {
    name: "bench",
    actionSchema: {
      space: schema.space,
      representation: schema.representation,
      frame: schema.frame,
      columns: [...BENCH_JOINTS],
    },
    actionSchemaFingerprint: BigInt(schemaFingerprint(schema)),
    horizon: BENCH_HORIZON,
    dtNs: BigInt(BENCH_DT_NS),
    obsTransformVersion: OBS_TRANSFORM_VERSION,
    obsTransformSha256: Buffer.from(OBS_TRANSFORM_SHA256, "hex"),
  });
}

function openEcho(): Promise<number> {
  const server = new Server();
  const reply = Buffer.alloc(ECHO_REPLY_SIZE_BYTES, 1);
  server.addService(
    { run: echoMethod },
    {
      run: (stream: ServerDuplexStream<Buffer, Buffer>) => {
        stream.on("data", () => stream.write(reply));
        stream.on("end", () => stream.end());
        stream.on("error", () => undefined); // the other process has ended
      },
    },
  );
  return new Promise((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) => {
      if (error === null) resolve(port);
      else reject(error);
    });
  });
}
