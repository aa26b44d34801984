// Names that only some places may use, as data: each with where it is at home and what to write
// elsewhere. A name is a global such as `Date`, a member such as `Math.random`, or a module.

export type NameBan = {
  readonly names: readonly string[];
  /** Path prefixes where the names are at home. */
  readonly home: readonly string[];
  /** Path prefixes the ban is limited to; absent means everywhere. */
  readonly only?: readonly string[];
  /** Whether tests are free. */
  readonly testsFree?: true;
  readonly instead: string;
};

const CLOCK_HOME = ["runtime/workers/system-clock.ts", "hal/ffi/", "scripts/", "firmware-tests/"];
const PURE = [
  "runtime/contracts/",
  "runtime/core/",
  "runtime/kinematics/",
  "runtime/shm/",
  "safety/",
];

export const nameTable: readonly NameBan[] = [
  {
    names: ["bun:ffi"],
    home: ["hal/ffi/", "firmware-tests/"],
    instead: "wrap the call in a file of hal/ffi",
  },
  {
    names: ["Atomics", "SharedArrayBuffer"],
    home: ["runtime/shm/"],
    instead: "use LatestCell, SpscRing, Arena or ControlWords of runtime/shm",
  },
  {
    names: [
      "Date",
      "performance",
      "Bun.nanoseconds",
      "process.hrtime",
      "hrtime",
      "node:perf_hooks",
      "perf_hooks",
    ],
    // A certificate's two dates are constants, of a type that its library wants.
    home: [
      ...CLOCK_HOME,
      "runtime/link/tls-certificates.ts",
      "runtime/link/tls-authority.ts",
      "runtime/link/grpc-mutual-tls.test.ts",
    ],
    instead: "take nowNs as an argument; the clock is runtime/workers/system-clock.ts",
  },
  {
    names: ["Math.random", "crypto.getRandomValues"],
    home: [],
    instead: "take a seed and use the seeded generator",
  },
  {
    names: [
      "setTimeout",
      "setInterval",
      "setImmediate",
      "Bun.sleep",
      "Bun.sleepSync",
      "node:timers",
      "node:timers/promises",
    ],
    home: [
      "runtime/workers/",
      "runtime/cli/",
      "runtime/console/",
      "runtime/awp/server.ts",
      "runtime/link/grpc-",
      "runtime/link/openpi-socket.ts",
      "runtime/main.ts",
      "runtime/compose.ts",
      "scripts/",
      "firmware-tests/",
    ],
    instead: "return a due time and let the caller wait; the tick is paced by a Pacer",
  },
  {
    names: ["Worker"],
    home: ["runtime/compose.ts", "scripts/", "firmware-tests/"],
    testsFree: true,
    instead: "start every Worker in runtime/compose.ts, or its URL breaks in the binary",
  },
  {
    names: ["Bun.YAML", "node:vm", "eval"],
    home: [],
    instead: "read profiles with the yaml package: it has positions and refuses duplicate keys",
  },
  {
    names: ["Bun", "process", "fetch", "WebSocket", "console"],
    home: [],
    only: PURE,
    testsFree: true,
    instead: "this folder is pure: do it at the rim and pass the result in",
  },
  {
    names: [
      "sin",
      "cos",
      "tan",
      "asin",
      "acos",
      "atan",
      "atan2",
      "exp",
      "expm1",
      "log",
      "log2",
      "log10",
    ]
      .concat(["log1p", "pow", "hypot", "cbrt", "sinh", "cosh", "tanh"])
      .map((name) => `Math.${name}`),
    home: [],
    only: ["runtime/contracts/", "runtime/core/", "runtime/kinematics/", "safety/"],
    testsFree: true,
    instead: "use runtime/contracts/trig.ts: engines differ in the last bit, and replay is exact",
  },
];
