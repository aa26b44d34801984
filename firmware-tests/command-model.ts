// A model that adds rows of its own to the command, in every form that a run takes a policy in: an
// ONNX file, the YAML beside it, and the same formula in words of ours, with the rounding of
// float32, which is what the model is held against.

import { join } from "node:path";
import { onnxModel } from "../runtime/policy/onnx-author.ts";
import { loadRobot } from "../runtime/profile/load.ts";

const names = loadRobot("so101").joints.map(({ name }) => name);

export type CommandModel = {
  readonly name: string;
  /** What is added to the command, a row a time step and a value a joint. */
  readonly offsetsRad: readonly (readonly number[])[];
  readonly dtMs: number;
};

export function commandOnnx({ offsetsRad }: CommandModel): Uint8Array {
  const shape = [1, offsetsRad.length, names.length];
  return onnxModel({
    nodes: [{ op: "Add", inputs: ["command", "offset"], output: "actions" }],
    constants: { offset: { shape, rows: offsetsRad.flat() } },
    inputs: [{ name: "command", shape: [1, names.length] }],
    outputs: [{ name: "actions", shape }],
  });
}

export const commandYaml = ({ name, offsetsRad, dtMs }: CommandModel): string => `kind: policy
schema_version: 1
name: ${name}
description: The command and what was learned to add to it.
joints: [${names.join(", ")}]
inputs:
  - name: command
    shape: [1, ${names.length}]
    from: [command_rad]
output:
  name: actions
  shape: [1, ${offsetsRad.length}, ${names.length}]
  space: joint_pos
  dt_ms: ${dtMs}
`;

/** `isPromised` as a model's answer is, or at once. It names no time of its own. */
export const commandPolicy = (
  { name, offsetsRad, dtMs }: CommandModel,
  isPromised: boolean,
): string => `
const offsetsRad = ${JSON.stringify(offsetsRad)};
export function createPolicy(context) {
  const writer = context.writer(context.jointPositions);
  let allocator;
  return {
    name: "${name}",
    schema: writer.schema,
    selectsMode: false,
    plan: { horizon: ${offsetsRad.length}, dtNs: ${dtMs}e6 },
    reset(_epoch, given) { allocator = given; },
    ${isPromised ? "async " : ""}act(state) {
      const values = writer.begin(state, allocator);
      writer.chunk.record[4] = ${dtMs}e6;
      writer.chunk.record[5] = ${offsetsRad.length};
      for (const [row, added] of offsetsRad.entries()) {
        for (const [joint, each] of added.entries()) {
          const command = Math.fround(state.command[joint]);
          values[row * writer.width + joint] = Math.fround(command + Math.fround(each));
        }
      }
      return writer.chunk;
    },
  };
}
`;

/** Writes the model and its YAML as `name.onnx` and `name.yaml`. */
export async function writeCommandModel(folder: string, model: CommandModel): Promise<void> {
  await Bun.write(join(folder, `${model.name}.onnx`), commandOnnx(model));
  await Bun.write(join(folder, `${model.name}.yaml`), commandYaml(model));
}
