// The YAML beside an ONNX model: what must hold in it beyond its schema, and how it becomes an
// OnnxMapping. Neither the robot nor the model is known here; `runtime/policy/onnx-fit.ts` judges
// both against it.

import { DT_NS_MAX, HORIZON_MAX, WIDTH_MAX } from "../contracts/action.ts";
import { OBS_SIDE_PX } from "../contracts/obs-transform.ts";
import { jointParts, pixelRules } from "../contracts/onnx.ts";
import type { OnnxInput, OnnxMapping, OnnxPart } from "../contracts/onnx.ts";
import { milliseconds, NS_PER_MS } from "../contracts/units.ts";
import { checkDurations, checkUnique } from "./common-rules.ts";
import { oneOf } from "./problem.ts";
import type { Tree } from "./tree.ts";

const OUTPUT = "/output";
const COLOUR_COUNT = 3;
const shapesOfPictures = {
  chw: [1, COLOUR_COUNT, OBS_SIDE_PX, OBS_SIDE_PX],
  hwc: [1, OBS_SIDE_PX, OBS_SIDE_PX, COLOUR_COUNT],
} as const;
const spaces = ["joint_vel", "joint_delta", "ee_pose_delta"] as const;

/** Notes every broken rule. */
export function checkOnnx(tree: Tree): void {
  checkDurations(tree);
  checkUnique(tree, "/inputs", "name");
  const joints = tree.texts("/joints");
  for (const [index, joint] of joints.entries()) {
    if (joint !== "" && joints.indexOf(joint) !== index) {
      tree.report(`/joints/${index}`, "each joint once", `a second "${joint}"`);
    }
  }
  for (const input of tree.each("/inputs")) checkInput(tree, input);
  const sources = tree.each("/inputs").flatMap((input) => tree.texts(`${input}/from`));
  if (tree.has("/accepts_jpeg") && !sources.some((source) => source.startsWith("image:"))) {
    tree.report("/accepts_jpeg", "nothing here: no input is an image");
  }
  checkOutput(tree);
}

function checkInput(tree: Tree, at: string): void {
  const sources = tree.texts(`${at}/from`);
  const isPicture = sources.some((source) => source.startsWith("image:"));
  for (const [index, source] of sources.entries()) {
    if (isPicture && sources.length > 1) {
      tree.report(`${at}/from/${index}`, "an image alone, or no image", `"${source}"`);
    } else if (source !== "" && !/^(?:field|image):./.test(source)) {
      if (!jointParts.some((part) => part === source)) {
        tree.report(
          `${at}/from/${index}`,
          oneOf([...jointParts, "field:NAME", "image:NAME"], source),
        );
      }
    }
  }
  const pixels = `${at}/pixels`;
  if (isPicture && !tree.has(pixels)) {
    tree.report(pixels, `this key of an image: ${pixelRules.join(" or ")}`, "nothing");
  }
  if (!isPicture && tree.has(pixels)) tree.report(pixels, "nothing here: it is of an image");
  const shape = tree.numbers(`${at}/shape`);
  if (isPicture && orderOf(shape) === undefined && shape.length > 0) {
    const expected = Object.values(shapesOfPictures).map(sizeText).join(" or ");
    tree.report(`${at}/shape`, `${expected}, as an image comes`, sizeText(shape));
  }
  checkScale(tree, at, isPicture ? COLOUR_COUNT : shape.reduce((count, each) => count * each, 1));
}

function checkOutput(tree: Tree): void {
  const shape = tree.numbers(`${OUTPUT}/shape`);
  const [horizon = Number.NaN, width = Number.NaN] = shape.slice(-2);
  const isPlan = shape.length >= 2 && shape.slice(0, -2).every((each) => each === 1);
  if (shape.length > 0 && !(isPlan && horizon <= HORIZON_MAX && width <= WIDTH_MAX)) {
    const limits = `up to ${HORIZON_MAX} rows of up to ${WIDTH_MAX} values`;
    tree.report(
      `${OUTPUT}/shape`,
      `horizon and width last, 1 before them: ${limits}`,
      sizeText(shape),
    );
  }
  const dtMsMax = DT_NS_MAX / NS_PER_MS;
  if (tree.number(`${OUTPUT}/dt_ms`) > dtMsMax) {
    tree.report(`${OUTPUT}/dt_ms`, `at most ${dtMsMax}`);
  }
  const frame = `${OUTPUT}/frame`;
  const isTool = tree.text(`${OUTPUT}/space`) === "ee_pose_delta";
  if (isTool && !tree.has(frame)) {
    tree.report(frame, "this key of tool deltas: base or tool", "nothing");
  }
  if (!isTool && tree.has(frame)) tree.report(frame, "nothing here: it is of tool deltas");
  checkScale(tree, OUTPUT, width);
}

function checkScale(tree: Tree, at: string, valueCount: number): void {
  for (const key of ["mean", "std"]) {
    const count = tree.count(`${at}/${key}`);
    if (tree.has(`${at}/${key}`) && valueCount > 0 && count !== valueCount) {
      tree.report(`${at}/${key}`, `${valueCount} numbers, one for each value`, `${count}`);
    }
  }
  for (const std of tree.each(`${at}/std`)) {
    if (tree.number(std) <= 0) tree.report(std, "a number above 0");
  }
}

/** Call it on a tree that was checked. */
export function buildOnnx(tree: Tree): OnnxMapping {
  const shape = tree.numbers(`${OUTPUT}/shape`);
  const [horizon = 0, widthCount = 0] = shape.slice(-2);
  const space = tree.text(`${OUTPUT}/space`);
  const frame = tree.text(`${OUTPUT}/frame`);
  return {
    name: tree.text("/name"),
    description: tree.text("/description"),
    path: tree.file,
    joints: tree.texts("/joints"),
    acceptsJpeg: tree.flag("/accepts_jpeg"),
    inputs: tree.each("/inputs").map((at) => inputAt(tree, at)),
    output: {
      name: tree.text(`${OUTPUT}/name`),
      shape,
      horizon,
      widthCount,
      space: spaces.find((each) => each === space) ?? "joint_pos",
      frame: (["base", "tool"] as const).find((each) => each === frame),
      dtNs: milliseconds(tree.number(`${OUTPUT}/dt_ms`)),
      ...scaleAt(tree, OUTPUT),
    },
  };
}

function inputAt(tree: Tree, at: string): OnnxInput {
  const shape = tree.numbers(`${at}/shape`);
  const sources = tree.texts(`${at}/from`);
  const common = { name: tree.text(`${at}/name`), shape, ...scaleAt(tree, at) };
  const [first = ""] = sources;
  if (!first.startsWith("image:")) {
    return { ...common, content: { kind: "vector", parts: sources.map(partOf) } };
  }
  const rule = tree.text(`${at}/pixels`);
  const pixels = pixelRules.find((each) => each === rule) ?? pixelRules[0];
  const order = orderOf(shape) ?? "chw";
  return { ...common, content: { kind: "picture", source: nameIn(first), order, pixels } };
}

function partOf(source: string): OnnxPart {
  const part = jointParts.find((each) => each === source);
  return part === undefined ? { kind: "field", field: nameIn(source) } : { kind: "joints", part };
}

const scaleAt = (tree: Tree, at: string) => ({
  valueOffset: tree.numbers(`${at}/mean`),
  valueFactor: tree.numbers(`${at}/std`),
});

const nameIn = (source: string): string => source.slice(source.indexOf(":") + 1);

function orderOf(shape: readonly number[]): "chw" | "hwc" | undefined {
  return (["chw", "hwc"] as const).find((order) => shape.join() === shapesOfPictures[order].join());
}

const sizeText = (shape: readonly number[]): string => shape.join(" x ");
