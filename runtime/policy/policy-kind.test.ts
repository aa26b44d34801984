// What `--policy` names, and where the chunks of each kind lie in time when they name none: by the
// profile where it says so, else by the kind.

import { expect, test } from "bun:test";
import { loadRobot } from "../profile/load.ts";
import {
  anchoringOf,
  isOnnxPath,
  isPolicyPath,
  onnxMappingPath,
  policyKind,
} from "./policy-kind.ts";
import type { PolicyKind } from "./policy-kind.ts";

const named: Readonly<Record<PolicyKind, readonly string[]>> = {
  shipped: ["hold", "pick_place", "ftp://host/mine.ts"],
  module: ["./p", "p.ts", "a/b", "p.mjs", "p.cjs", "p.js", "./onnx"],
  model: ["p.onnx", "./a/p.onnx", "/p.onnx"],
  remote: ["grpc://host", "grpc://[::1]:7777", "openpi://127.0.0.1:8000", "grpc://host/p.onnx"],
};
const kinds = Object.keys(named) as PolicyKind[];

test("a name is a name, a path is a path, and an address is neither", () => {
  const found = kinds.map((kind) => named[kind].map(policyKind));
  expect(found).toEqual(kinds.map((kind) => named[kind].map(() => kind)));
  const isOfFile = (names: readonly string[]) => names.map((name) => isPolicyPath(name));
  expect(isOfFile(named.shipped)).not.toContain(true);
  expect(isOfFile(named.remote)).not.toContain(true);
  expect(isOfFile([...named.module, ...named.model])).not.toContain(false);
  expect(named.model.map(isOnnxPath)).not.toContain(false);
  expect(named.module.map(isOnnxPath)).not.toContain(true);
});

test("the YAML of a model is named as the model was", () => {
  const found = ["m.onnx", "./a/m.onnx", "/m.onnx"].map(onnxMappingPath);
  expect(found).toEqual(["m.yaml", "./a/m.yaml", "/m.yaml"]);
});

test("what was learned or is far away is put at its observation, a script at its arrival", () => {
  const robot = loadRobot("so101");
  expect(robot.policy.anchoring).toBeUndefined();
  const found = kinds.map((kind) => [
    kind,
    ...new Set(named[kind].map((p) => anchoringOf(robot, p))),
  ]);
  expect(found).toEqual([
    ["shipped", "arrival"],
    ["module", "arrival"],
    ["model", "observation"],
    ["remote", "observation"],
  ]);
});

test("a profile that says it is obeyed by every kind", () => {
  const robot = loadRobot("so101");
  for (const anchoring of ["observation", "arrival"] as const) {
    const stated = { ...robot, policy: { ...robot.policy, anchoring } };
    const found = kinds.flatMap((kind) => named[kind].map((name) => anchoringOf(stated, name)));
    expect([...new Set(found)]).toEqual([anchoring]);
  }
});
