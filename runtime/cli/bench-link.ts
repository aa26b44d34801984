// `holdfast bench link`: how long a question takes to another process and back over the policy
// link, without inference, beside a bare grpc-js stream of as many bytes in the same run. The
// rounds take turns, so that a pause of the machine meets all of them alike.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { create } from "@bufbuild/protobuf";
import { Client, credentials } from "@grpc/grpc-js";
import { encodeJpeg } from "../../hal/jpeg.ts";
import {
  goldenPicture,
  OBS_SIDE_PX,
  OBS_SIZE_BYTES,
  OBS_TRANSFORM_SHA256,
  OBS_TRANSFORM_VERSION,
  ObsTransform,
} from "../contracts/obs-transform.ts";
import { SeededRandom } from "../contracts/seeded-random.ts";
import { duration, instant } from "../contracts/units.ts";
import { EdgeLink } from "../link/edge-link.ts";
import {
  HelloSchema,
  Image_Encoding,
  ImageSchema,
  ObservationSchema,
} from "../link/generated/policy_pb.js";
import type { Observation } from "../link/generated/policy_pb.js";
import { GrpcEdge } from "../link/grpc-edge.ts";
import { JPEG_QUALITY_PERCENT, PROTOCOL_VERSION } from "../link/limits.ts";
import { sessionOrigin, SystemClock } from "../workers/system-clock.ts";
import { BENCH_JOINTS, echoMethod } from "./bench-link-host.ts";
import type { BenchLinkReady } from "./bench-link-host.ts";

/** The hidden subcommand that is the other process. */
export const BENCH_LINK_COMMAND = "bench-link-host";

const ROUNDS = 5;
const WARM_UP_COUNT = 500;
const SMALL_COUNT = 1_000;
const IMAGE_COUNT = 200;
/** Two raw pictures of 224 × 224 are 301 KB. */
const IMAGES = 2;
/** 16 numbers as float32 and what a message needs around them. */
const ECHO_REQUEST_SIZE_BYTES = 96;
const SMALL_US_MAX = 300;
const IMAGE_US_MAX = 2_000;
const ANSWER_NS_MAX = 5e9;

type Percentiles = { readonly p50: number; readonly p99: number };

export type LinkFigures = {
  readonly small_rtt_us: Percentiles;
  readonly bare_echo_rtt_us: Percentiles;
  readonly image_rtt_us: Percentiles;
  /** The same pictures as JPEG, encoded before and decoded after. */
  readonly jpeg_rtt_us: Percentiles;
  /** Small over bare, at p50. */
  readonly overhead_us_p50: number;
  readonly met: boolean;
};

/** One question to the other process; resolves with the answer. */
type Ask = () => Promise<void>;

export async function benchLink(): Promise<LinkFigures> {
  const child = spawn(process.execPath, [...entry(), BENCH_LINK_COMMAND], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  try {
    const line = await firstLine(child.stdout);
    const { port, echoPort } = JSON.parse(line) as BenchLinkReady;
    return await measure(port, echoPort);
  } finally {
    child.stdin.end();
    child.kill();
  }
}

const entry = (): string[] => (Bun.main.startsWith("/$bunfs/") ? [] : [Bun.main]);

async function firstLine(stream: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface({ input: stream })) return line;
  throw new Error("the other process ended before it listened");
}

async function measure(port: number, echoPort: number): Promise<LinkFigures> {
  const clock = new SystemClock(sessionOrigin(), duration(0), { stopped: false });
  const link = await openLink(port, clock);
  const echo = openEcho(echoPort);
  const small = observation(0);
  const image = observation(IMAGES);
  const jpeg = observation(IMAGES);
  const asks = {
    small: () => link.ask(small),
    bare: () => echo.ask(),
    image: () => link.ask(image),
    jpeg: async () => {
      await encodeAll(jpeg);
      await link.ask(jpeg);
    },
  };
  const times: Record<keyof typeof asks, number[]> = { small: [], bare: [], image: [], jpeg: [] };
  const rounds = async (ask: Ask, into: number[] | undefined, count: number): Promise<void> => {
    for (let index = 0; index < count; index += 1) {
      const fromNs = clock.nowNs();
      await ask();
      into?.push((clock.nowNs() - fromNs) / 1e3);
    }
  };
  await rounds(asks.small, undefined, WARM_UP_COUNT);
  await rounds(asks.bare, undefined, WARM_UP_COUNT);
  for (let round = 0; round < ROUNDS; round += 1) {
    await rounds(asks.bare, times.bare, SMALL_COUNT);
    await rounds(asks.small, times.small, SMALL_COUNT);
    await rounds(asks.image, times.image, IMAGE_COUNT);
    await rounds(asks.jpeg, times.jpeg, IMAGE_COUNT);
  }
  link.close();
  echo.close();
  const all = [times.small, times.bare, times.image, times.jpeg];
  const [smallUs, bareUs, imageUs, jpegUs] = all.map(percentiles);
  const overhead = smallUs!.p50 - bareUs!.p50;
  return {
    small_rtt_us: smallUs!,
    bare_echo_rtt_us: bareUs!,
    image_rtt_us: imageUs!,
    jpeg_rtt_us: jpegUs!,
    overhead_us_p50: overhead,
    met: overhead <= SMALL_US_MAX && imageUs!.p50 <= IMAGE_US_MAX,
  };
}

async function openLink(port: number, clock: SystemClock) {
  const link = new EdgeLink({
    makeHello: (linkSession) =>
      create(HelloSchema, {
        protocolVersion: PROTOCOL_VERSION,
        linkSession,
        robot: "bench",
        jointNames: [...BENCH_JOINTS],
        obsTransformVersion: OBS_TRANSFORM_VERSION,
        obsTransformSha256: Buffer.from(OBS_TRANSFORM_SHA256, "hex"),
      }),
    random: new SeededRandom(0),
  });
  let settle: ((failure: string | undefined) => void) | undefined;
  const edge = new GrpcEdge(link, {
    target: `127.0.0.1:${port}`,
    credentials: credentials.createInsecure(),
    nowNs: () => clock.nowNs(),
    onAnswer: (answer) => settle?.("failure" in answer ? answer.failure : undefined),
  });
  link.start(clock.nowNs());
  const timer = setInterval(() => edge.pump(), 20);
  while (link.phase !== "ready") await Bun.sleep(1);
  return {
    ask: (message: Observation): Promise<void> =>
      new Promise((resolve, reject) => {
        settle = (failure) => (failure === undefined ? resolve() : reject(new Error(failure)));
        const nowNs = clock.nowNs();
        link.request(message, nowNs, instant(nowNs + ANSWER_NS_MAX));
        edge.pump();
      }),
    close: () => {
      clearInterval(timer);
      edge.close();
    },
  };
}

function openEcho(port: number) {
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  const { path, requestSerialize, responseDeserialize } = echoMethod;
  const stream = client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize);
  const request = Buffer.alloc(ECHO_REQUEST_SIZE_BYTES, 1);
  let settle: (() => void) | undefined;
  stream.on("data", () => settle?.());
  stream.on("error", () => undefined); // closed below
  return {
    ask: (): Promise<void> =>
      new Promise((resolve) => {
        settle = resolve;
        stream.write(request);
      }),
    close: () => {
      stream.cancel();
      client.close();
    },
  };
}

/** No picture packs worse. */
const noise = new Uint8Array(OBS_SIZE_BYTES);
new ObsTransform(97, 61, "rgb").transformInto(noise, goldenPicture());

async function encodeAll({ images }: Observation): Promise<void> {
  const encode = () => encodeJpeg(noise, OBS_SIDE_PX, OBS_SIDE_PX, JPEG_QUALITY_PERCENT);
  const jpegs = await Promise.all(images.map(encode));
  for (const [index, image] of images.entries()) {
    image.encoding = Image_Encoding.JPEG;
    image.pixels = jpegs[index]!;
  }
}

/** 16 numbers: seven positions, seven commands, and two of a field. */
function observation(imageCount: number): Observation {
  const joints = BENCH_JOINTS.map((_, index) => index / 10);
  const images = Array.from({ length: imageCount }, (_, index) =>
    create(ImageSchema, {
      name: `camera_${index}`,
      widthPx: OBS_SIDE_PX,
      heightPx: OBS_SIDE_PX,
      encoding: Image_Encoding.RGB8,
      pixels: noise,
    }),
  );
  return create(ObservationSchema, {
    epoch: 1n,
    positionRad: joints,
    commandRad: joints,
    fields: [{ name: "force", values: [1, 2] }],
    images,
  });
}

function percentiles(times: readonly number[]): Percentiles {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (ratio: number): number => sorted[Math.floor(ratio * (sorted.length - 1))] ?? 0;
  return { p50: at(0.5), p99: at(0.99) };
}

export function formatLink(figures: LinkFigures): string {
  const row = (name: string, { p50, p99 }: Percentiles): string => {
    const text = `p50 ${p50.toFixed(0).padStart(5)} µs, p99 ${p99.toFixed(0).padStart(6)} µs`;
    return `  ${name.padEnd(34)} ${text}`;
  };
  const goals = `at most ${SMALL_US_MAX} µs over it, pictures at most ${IMAGE_US_MAX} µs`;
  const over = `over the bare stream at p50: ${figures.overhead_us_p50.toFixed(0)} µs`;
  return [
    "policy link over loopback, two processes, no inference",
    row("bare grpc-js stream, same bytes", figures.bare_echo_rtt_us),
    row("16 numbers → 50 × 7 chunk", figures.small_rtt_us),
    row("two pictures, 301 KB → chunk", figures.image_rtt_us),
    row("the same as JPEG, there and back", figures.jpeg_rtt_us),
    `  ${over}; goals: ${goals}: ${figures.met ? "met" : "missed"}`,
  ].join("\n");
}
