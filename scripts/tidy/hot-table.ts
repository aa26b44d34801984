// What a hot file may not do in a function that a tick may call, as data: syntax, methods and
// globals that allocate or throw, each with what to write instead.

export const HOT_PREFIXES: readonly string[] = [
  "runtime/contracts/",
  "runtime/core/",
  "runtime/shm/",
  "safety/gate.ts",
  "safety/supervisor.ts",
  "safety/limits.ts",
  "safety/stop-profile.ts",
  "safety/chase.ts",
  "safety/motion-limiter.ts",
  "safety/robot-watch.ts",
  "safety/tool-guard.ts",
  "safety/safe-action.ts",
  "safety/command-sink.ts",
  "safety/pose-check.ts",
  "safety/parking.ts",
  "runtime/kinematics/tool-point.ts",
];

/** Files below those prefixes that never run in a tick. */
export const COLD_FILES: ReadonlySet<string> = new Set([
  // Shared by tests only.
  "runtime/core/action-buffer-rig.ts",
  "runtime/core/core-rig.ts",
  "runtime/contracts/assert.ts",
]);

/** Says that no tick calls a function; written in the comment before it. */
export const SET_UP_MARK = /set-up only/i;

/** Node types, as the parser names them. */
export const hotSyntax: Readonly<Record<string, string>> = {
  ForOfStatement: "for…of makes an iterator: count an index",
  ForInStatement: "for…in lists keys: count an index over a table",
  SpreadElement: "a spread copies: write into memory of the caller",
  ObjectExpression: "an object literal allocates: write into memory made at set-up",
  ArrayExpression: "an array literal allocates: write into memory made at set-up",
  ArrayPattern: "array destructuring makes an iterator: read by index",
  RestElement: "rest parameters allocate: name each parameter",
  ArrowFunctionExpression: "a closure allocates: use a method or a module function",
  FunctionExpression: "a closure allocates: use a method or a module function",
  ThrowStatement: "a throw unwinds past the sink: return a reason code, or assert",
  AwaitExpression: "nothing in the tick waits: hand it over by a cell or a ring",
  YieldExpression: "generators allocate: write a loop",
  NewExpression: "new allocates: make it in the constructor",
  TaggedTemplateExpression: "text allocates: return a reason code",
};

/** Methods that allocate, whatever they are called on. */
export const hotMethods: Readonly<Record<string, string>> = {
  forEach: "count an index",
  map: "count an index and write into memory made at set-up",
  filter: "count an index",
  flatMap: "count an index",
  reduce: "count an index",
  some: "count an index",
  every: "count an index",
  find: "count an index",
  findIndex: "count an index",
  entries: "count an index",
  keys: "count an index",
  values: "count an index",
  subarray: "cut views in the constructor",
  slice: "copy by index, or by set, into memory made at set-up",
  concat: "write into memory made at set-up",
  toString: "return a reason code",
  toFixed: "return a reason code",
  join: "return a reason code",
  split: "return a reason code",
  push: "write into a ring made at set-up",
  sort: "keep order with an insertion by index",
};

/** Globals that allocate, wait or write. */
export const hotGlobals: Readonly<Record<string, string>> = {
  BigInt: "use number nanoseconds: exact for 104 days",
  BigInt64Array: "use Float64Array: bigint allocates",
  BigUint64Array: "use Float64Array: bigint allocates",
  DataView: "use a Float64Array record with a slot table",
  JSON: "use a fixed record",
  Promise: "hand it over by a cell or a ring",
};
