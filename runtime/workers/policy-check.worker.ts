// Loads what a policy host was told to serve, before it listens and without a robot: a module with
// its export, or a model in its engine. It says ready, or ends with what is wrong.

import { isMainThread, parentPort, workerData } from "node:worker_threads";
import { assert } from "../contracts/assert.ts";
import { importPolicy } from "../policy/load-policy.ts";
import { isOnnxPath } from "../policy/policy-kind.ts";
import { loadModel } from "./onnx-file.ts";
import type { WorkerMessage } from "./thread.ts";

/** The path of a policy. */
export type PolicyCheckPlan = string;

assert(!isMainThread && parentPort !== null, "a Worker entry runs in a Worker");
const path = workerData as PolicyCheckPlan;
await (isOnnxPath(path) ? loadModel(path) : importPolicy(path));
const ready: WorkerMessage = { kind: "ready", scene: undefined };
parentPort.postMessage(ready);
