// A server that speaks openpi's bytes and moves an arm's first joint, or its tool, to and fro; or
// misbehaves in one way. Its codec is not that of the product: arrays are put together here, maps
// are those of the msgpack library, and `vectors/openpi.json` holds both to what numpy makes.
//
//   bun firmware-tests/openpi-server.ts [PORT] [PRESET] [MISDEED]

import type { Server, ServerWebSocket } from "bun";
import { decode, encode } from "@msgpack/msgpack";

/** What it is asked with and answers, as the deployments of that name have it. */
export const presets = {
  positions: {
    state: "state",
    gripper: "",
    horizon: 50,
    width: 6,
    dtS: 0.02,
    kind: "position",
  },
  velocities: {
    state: "observation/joint_position",
    gripper: "observation/gripper_position",
    horizon: 10,
    width: 6,
    dtS: 1 / 15,
    kind: "rate",
  },
  tool: {
    state: "observation/state",
    gripper: "",
    horizon: 10,
    width: 7,
    dtS: 0.05,
    kind: "rate",
  },
} as const;
export type PresetName = keyof typeof presets;
type Preset = (typeof presets)[PresetName];

export const misdeeds = [
  ...["none", "text", "wide", "short", "nan", "huge", "garbage", "deep", "float16", "list"],
  ...["silent", "twice", "greets-in-text", "empty"],
] as const;
export type Misdeed = (typeof misdeeds)[number];

const TRACEBACK = `Traceback (most recent call last):
  File "/app/websocket_policy_server.py", line 63, in _handler
    action = self._policy.infer(obs)
KeyError: 'observation/wrist_image_left'
`;
/** The first joint goes this far to both sides, rad, in this much a second. */
const REACH = 0.3;
const SPEED = 0.25;

/** A numpy array's map, byte by byte. */
export function packArray(dtype: string, shape: readonly number[], data: Uint8Array): Buffer {
  const key = (text: string): Buffer =>
    Buffer.concat([Buffer.of(0xc4, text.length), Buffer.from(text)]);
  const head = Buffer.of(0x84);
  const bin = encode(data);
  return Buffer.concat([
    ...[head, key("__ndarray__"), Buffer.of(0xc3), key("data"), bin],
    ...[key("dtype"), encode(dtype), key("shape"), encode(shape)],
  ]);
}

/** A map of text keys to bytes that are packed already. */
export function packMap(entries: Readonly<Record<string, Uint8Array>>): Buffer {
  const parts = Object.entries(entries).flatMap(([key, value]) => [encode(key), value]);
  return Buffer.concat([Buffer.of(0x80 | Object.keys(entries).length), ...parts]);
}

/** What a client sent, with arrays as numbers. */
export function unpack(frame: Uint8Array): Record<string, unknown> {
  const value = decode(frame, {
    mapKeyConverter: (key) =>
      key instanceof Uint8Array ? Buffer.from(key).toString() : String(key),
  });
  return widen(value) as Record<string, unknown>;
}

type Packed = {
  readonly data: Uint8Array;
  readonly dtype: string;
  readonly shape: readonly number[];
};
export type Unpacked = {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly values: Float32Array | Uint8Array;
};

function widen(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (!("__ndarray__" in value)) {
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, widen(part)]));
  }
  const { data, dtype, shape } = value as unknown as Packed;
  const copy = Uint8Array.from(data).buffer; // a Buffer's own slice shares memory
  const values = dtype === "<f4" ? new Float32Array(copy) : new Uint8Array(copy);
  return { dtype, shape, values } satisfies Unpacked;
}

export class OpenpiServer {
  readonly port: number;
  /** Frames that came, the newest last. */
  readonly observations: Record<string, unknown>[] = [];
  connectionCount = 0;
  /** What the last client offered beyond plain frames, such as compression. */
  offered: string | null = "";
  misdeed: Misdeed;
  metadata: Record<string, unknown> = { policy: "to and fro" };
  readonly #preset: Preset;
  readonly #server: Server<undefined>;
  #direction = 1;
  #walked = 0;

  constructor(port = 0, preset: PresetName = "positions", misdeed: Misdeed = "none") {
    this.#preset = presets[preset];
    this.misdeed = misdeed;
    this.#server = Bun.serve({
      hostname: "127.0.0.1",
      port,
      fetch: (request, server) => {
        if (new URL(request.url).pathname === "/healthz") return new Response("OK\n");
        this.offered = request.headers.get("sec-websocket-extensions");
        if (server.upgrade(request, { data: undefined })) return;
        return new Response("not a WebSocket", { status: 426 });
      },
      websocket: {
        maxPayloadLength: 1 << 26,
        perMessageDeflate: false,
        open: (socket) => this.#greet(socket),
        message: (socket, data) => this.#serve(socket, data),
      },
    });
    this.port = this.#server.port!;
  }

  /** Every connection is cut, and nobody listens any more. */
  async kill(): Promise<void> {
    await this.#server.stop(true);
  }

  #greet(socket: ServerWebSocket<undefined>): void {
    this.connectionCount += 1;
    if (this.misdeed === "greets-in-text") socket.send("no model here");
    else socket.send(encode(this.metadata));
  }

  #serve(socket: ServerWebSocket<undefined>, data: string | Buffer): void {
    if (typeof data === "string") throw new TypeError("a client sends bytes");
    const observation = unpack(data);
    this.observations.push(observation);
    const { misdeed } = this;
    if (misdeed === "silent") return;
    if (misdeed === "text") {
      socket.send(TRACEBACK);
      socket.close(1011, "Internal server error.");
      return;
    }
    const bad = badFrames[misdeed]?.(this.#preset);
    const answer = bad ?? this.#answer(observation);
    socket.send(answer);
    if (misdeed === "twice") socket.send(answer);
  }

  #answer(observation: Record<string, unknown>): Buffer {
    const { horizon, width, dtS, kind, state, gripper } = this.#preset;
    const { values } = observation[state] as Unpacked;
    const held = (observation[gripper] as Unpacked | undefined)?.values[0] ?? 0;
    const at = kind === "position" ? values[0]! : this.#walked;
    if (Math.abs(at) > REACH && Math.sign(at) === this.#direction) this.#direction *= -1;
    this.#walked += this.#direction * 0.02;
    const rows = Array.from({ length: horizon }, (_, row) =>
      Array.from({ length: width }, (_, column) => {
        const own = kind === "position" ? values[column]! : 0;
        if (column > 0) return column === width - 1 && kind === "rate" ? held : own;
        return own + this.#direction * SPEED * (kind === "position" ? row * dtS : 1);
      }),
    );
    const data = new Uint8Array(Float64Array.from(rows.flat()).buffer);
    return packMap({
      actions: packArray("<f8", [horizon, width], data),
      state: packArray("<f4", [values.length], new Uint8Array(Float32Array.from(values).buffer)),
      policy_timing: encode({ infer_ms: 12.5 }),
      server_timing: encode({ infer_ms: 13.25, prev_total_ms: 14.5 }),
    });
  }
}

const zeros = (horizon: number, width: number, dtype = "<f4", sizeBytes = 4): Buffer =>
  packMap({
    actions: packArray(dtype, [horizon, width], new Uint8Array(horizon * width * sizeBytes)),
  });

/** What is sent instead of an answer. */
const badFrames: Partial<Record<Misdeed, (preset: Preset) => Uint8Array>> = {
  wide: ({ horizon, width }) => zeros(horizon, width + 1),
  short: ({ horizon, width }) => zeros(horizon - 1, width),
  float16: ({ horizon, width }) => zeros(horizon, width, "<f2", 2),
  nan: ({ horizon, width }) => {
    const values = new Float32Array(horizon * width).fill(Number.NaN, width + 2, width + 3);
    const data = new Uint8Array(values.buffer);
    return packMap({ actions: packArray("<f4", [horizon, width], data) });
  },
  huge: () => packMap({ actions: packArray("|u1", [10_000_000], new Uint8Array(10_000_000)) }),
  garbage: () => Buffer.from("c1ff00de00adbeef", "hex"),
  deep: () => new Uint8Array(200_000).fill(0x91),
  list: () => encode([1, 2, 3]),
  empty: () => encode({}),
};

if (import.meta.main) {
  const [port, preset, misdeed] = process.argv.slice(2);
  if (!Object.keys(presets).includes(preset ?? "positions")) {
    throw new Error(`Cannot use "${preset}": expected ${Object.keys(presets).join(", ")}`);
  }
  const server = new OpenpiServer(
    Number(port ?? 8_000),
    (preset ?? "positions") as PresetName,
    (misdeed ?? "none") as Misdeed,
  );
  console.log(`openpi server on 127.0.0.1:${server.port}`);
}
