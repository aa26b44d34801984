// What an ONNX model is to us: which parts of a state become which of its inputs, and what the
// rows of its output mean. Data of the YAML beside the model, already checked in itself; whether it
// fits a robot and the model shows when both are there. `profiles/README.md` says how it is
// written.

import type { ActionSpace } from "./action.ts";
import type { Duration } from "./units.ts";

/** Parts of a state with one value per joint, in the model's order of joints. */
export const jointParts = ["position_rad", "velocity_rad_per_s", "command_rad"] as const;
export type JointPart = (typeof jointParts)[number];

/** Values that follow each other in a vector: of every joint, or of one field. */
export type OnnxPart =
  | { readonly kind: "joints"; readonly part: JointPart }
  | { readonly kind: "field"; readonly field: string };

/** A model is given (ours − offset) ÷ factor, and ours is (the model's × factor) + offset. */
export type OnnxScale = {
  /** One per value, or per colour of a picture; empty: 0. */
  readonly valueOffset: readonly number[];
  /** None is 0; empty: 1. */
  readonly valueFactor: readonly number[];
};

/** How a byte of a picture becomes a number, before mean and std. */
export const pixelRules = ["x/127.5-1", "x/255"] as const;
export type PixelRule = (typeof pixelRules)[number];

export type OnnxInput = OnnxScale & {
  readonly name: string;
  readonly shape: readonly number[];
  readonly content:
    | { readonly kind: "vector"; readonly parts: readonly OnnxPart[] }
    /** As ObsTransform makes it; colours as three planes, or together in each pixel. */
    | {
        readonly kind: "picture";
        readonly source: string;
        readonly order: "chw" | "hwc";
        readonly pixels: PixelRule;
      };
};

export type OnnxOutput = OnnxScale & {
  readonly name: string;
  /** The last two are horizon and width; those before are 1. */
  readonly shape: readonly number[];
  readonly horizon: number;
  readonly widthCount: number;
  readonly space: ActionSpace;
  /** Of tool deltas. */
  readonly frame: "base" | "tool" | undefined;
  readonly dtNs: Duration;
};

export type OnnxMapping = {
  readonly name: string;
  readonly description: string;
  /** The YAML it was read from. */
  readonly path: string;
  /** Every joint of the robot, in the order that the model was trained with. */
  readonly joints: readonly string[];
  /** True when its pictures may have been JPEG on their way. */
  readonly acceptsJpeg: boolean;
  readonly inputs: readonly OnnxInput[];
  readonly output: OnnxOutput;
};

/** What does not fit, at a place of the YAML. */
export type OnnxMisfit = {
  /** JSON pointer. */
  readonly pointer: string;
  readonly expected: string;
  readonly found: string;
};
