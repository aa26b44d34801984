// Whether a mapping fits its model, its robot and its task: every name, size and type is compared,
// and all that does not fit is told at once, each at its place of the YAML.

import { jointSchema, toolDeltaSchema } from "../contracts/action.ts";
import type { ActionSchema } from "../contracts/action.ts";
import type { OnnxInput, OnnxMapping, OnnxMisfit, OnnxPart } from "../contracts/onnx.ts";
import type { RobotProfile } from "../contracts/profile.ts";
import type { StateLayout } from "../contracts/state.ts";
import type { PolicyContext } from "./context.ts";
import type { OnnxModel, OnnxPort } from "./onnx-engine.ts";

const TYPE = "float32";

type Ports = Pick<OnnxModel, "inputs" | "outputs">;
type Place = Pick<PolicyContext, "robot" | "layout" | "pictures">;

/** Empty when everything fits. */
export function onnxMisfits(mapping: OnnxMapping, model: Ports, place: Place): OnnxMisfit[] {
  const { inputs, output } = mapping;
  const width = onnxSchema(mapping, place.robot).columns.length;
  return [
    ...jointMisfits(mapping, place.robot),
    ...inputs.flatMap((input, index) => [
      ...sourceMisfits(input, `/inputs/${index}`, place),
      ...portMisfits(input, `/inputs/${index}`, model.inputs),
    ]),
    ...missingInputs(mapping, model.inputs),
    ...portMisfits(output, "/output", model.outputs),
    ...differing("/output/shape", `rows of ${width} values`, `rows of ${output.widthCount} values`),
  ];
}

/** The robot's own order of joints: what a link asks of every policy. */
export function onnxSchema({ output, joints }: OnnxMapping, robot: RobotProfile): ActionSchema {
  const names = robot.joints.map(({ name }) => name);
  const { space, frame } = output;
  if (space !== "ee_pose_delta") return jointSchema(space, names);
  const byTool = toolJoints(robot);
  const others = names.filter((name) => !byTool.has(name) && joints.includes(name));
  return toolDeltaSchema(frame ?? "base", others);
}

/** For each column of a schema, where the model has it. */
export function onnxColumns({ joints }: OnnxMapping, { columns }: ActionSchema): Int32Array {
  const rank = (name: string): number => joints.indexOf(name); // -1: a part of the tool
  const theirs = [...columns].sort((a, b) => rank(a) - rank(b)); // stable
  return Int32Array.from(columns, (name) => theirs.indexOf(name));
}

function toolJoints({ joints, toolParent }: RobotProfile): ReadonlySet<string> {
  const names = new Set<string>();
  let name: string | undefined = toolParent;
  while (name !== undefined && !names.has(name)) {
    const wanted: string = name;
    names.add(wanted);
    name = joints.find((joint) => joint.name === wanted)?.parent;
  }
  return names;
}

function jointMisfits({ joints }: OnnxMapping, robot: RobotProfile): OnnxMisfit[] {
  const names = robot.joints.map(({ name }) => name);
  const text = (list: readonly string[]): string => [...list].sort().join(", ");
  return differing(
    "/joints",
    `the joints of ${robot.name}: ${text(names)}`,
    text(joints),
    text(names),
  );
}

function sourceMisfits(input: OnnxInput, at: string, place: Place): OnnxMisfit[] {
  const { content, shape } = input;
  const { layout, pictures } = place;
  if (content.kind === "picture") {
    const cameras = namesOf(layout, "uint8");
    const isThere = cameras.includes(content.source) && pictures !== undefined;
    const expected = "the picture of a camera, which a task that requires it has in streaming";
    const found = cameras.length === 0 ? "none here" : `${cameras.join(", ")} here`;
    return isThere ? [] : [{ pointer: `${at}/from/0`, expected, found }];
  }
  const misfits: OnnxMisfit[] = [];
  let valueCount = 0;
  for (const [index, part] of content.parts.entries()) {
    const partCount = countOf(part, layout);
    if (partCount === undefined) {
      const names = namesOf(layout, "float64").join(", ");
      const expected = `a field of this task: ${names === "" ? "it has none" : names}`;
      misfits.push({ pointer: `${at}/from/${index}`, expected, found: textOf(part) });
    } else valueCount += partCount;
  }
  if (misfits.length > 0) return misfits;
  const told = shape.reduce((count, each) => count * each, 1);
  return differing(
    `${at}/shape`,
    `${valueCount} values of ${content.parts.map(textOf).join(", ")}`,
    `${told} values`,
    `${valueCount} values`,
  );
}

function countOf(part: OnnxPart, layout: StateLayout): number | undefined {
  if (part.kind === "joints") return layout.jointCount;
  const isIt = layout.fields.find(({ name, dtype }) => name === part.field && dtype === "float64");
  return isIt?.valueCount;
}

const textOf = (part: OnnxPart): string =>
  part.kind === "joints" ? part.part : `field:${part.field}`;

function namesOf({ fields }: StateLayout, dtype: "uint8" | "float64"): string[] {
  return fields.filter((field) => field.dtype === dtype).map(({ name }) => name);
}

function portMisfits(
  told: { readonly name: string; readonly shape: readonly number[] },
  at: string,
  ports: readonly OnnxPort[],
): OnnxMisfit[] {
  const port = ports.find(({ name }) => name === told.name);
  if (port === undefined) {
    const names = ports.map(({ name }) => name).join(", ");
    return [{ pointer: `${at}/name`, expected: `a name of the model: ${names}`, found: told.name }];
  }
  if (port.type !== TYPE) {
    return [{ pointer: `${at}/name`, expected: `${TYPE} in the model`, found: port.type }];
  }
  const isSame =
    port.shape.length === told.shape.length &&
    port.shape.every((size, index) => typeof size === "string" || size === told.shape[index]);
  const expected = `the model's ${sizeText(port.shape)}`;
  return isSame ? [] : [{ pointer: `${at}/shape`, expected, found: sizeText(told.shape) }];
}

function missingInputs({ inputs }: OnnxMapping, ports: readonly OnnxPort[]): OnnxMisfit[] {
  const told = inputs.map(({ name }) => name);
  const names = ports.map(({ name }) => name);
  const missing = names.filter((name) => !told.includes(name));
  // A misspelt name is one mistake, not an unknown one and a missing one.
  if (missing.length === 0 || told.some((name) => !names.includes(name))) return [];
  const expected = `an entry for each input of the model, also ${missing.join(", ")}`;
  return [{ pointer: "/inputs", expected, found: told.join(", ") }];
}

/** Compares what was found with `same`, the expectation itself unless given. */
function differing(
  pointer: string,
  expected: string,
  found: string,
  same = expected,
): OnnxMisfit[] {
  return found === same ? [] : [{ pointer, expected, found }];
}

const sizeText = (shape: readonly (number | string)[]): string => shape.join(" x ");
