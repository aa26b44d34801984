// How a robot looks to an openpi server: which of our values become which of its observation keys,
// and what the columns of its actions are to us. Data of a deployment, already checked against the
// robot; `profiles/README.md` says how it is written.

import type { Duration } from "./units.ts";

/** Ours is theirs times the factor plus the offset, in both directions. The factor is not 0. */
export type OpenpiScale = { readonly scaleFactor: number; readonly offset: number };

/** Of the tool's pose in the base frame: m, then the rotation vector in rad. */
export const openpiToolParts = ["x", "y", "z", "rx", "ry", "rz"] as const;
export type OpenpiToolPart = (typeof openpiToolParts)[number];

/** One number of a vector that is sent. */
export type OpenpiValue =
  | (OpenpiScale & { readonly kind: "joint"; readonly joint: string })
  | (OpenpiScale & { readonly kind: "tool"; readonly part: OpenpiToolPart })
  | (OpenpiScale & { readonly kind: "field"; readonly field: string; readonly index: number })
  /** The offset, as it is, for what a robot lacks. */
  | { readonly kind: "constant"; readonly offset: number };

/** Where an observation has a value: under a key of the map, or of a map inside it. */
export type OpenpiPlace = { readonly inside: string | undefined; readonly key: string };

/** A float32 vector. */
export type OpenpiVector = OpenpiPlace & { readonly values: readonly OpenpiValue[] };

/** A picture as ObsTransform makes it, rows from the top, or with the colours as three planes. */
export type OpenpiPicture = OpenpiPlace & {
  readonly source: string;
  readonly order: "hwc" | "chw";
};

export type OpenpiSpace = "joint_pos" | "joint_vel" | "joint_delta" | "ee_pose_delta";

/** `to` is a joint, a part of the tool's delta (`tx` … `rz`) or `none`. */
export type OpenpiColumn = OpenpiScale & {
  readonly to: string;
  /** A joint's position among velocities or deltas, as grippers mostly are. */
  readonly isPosition: boolean;
};

export type OpenpiMapping = {
  /** Key of the task's text; absent for a policy that reads none. */
  readonly promptKey: string | undefined;
  readonly vectors: readonly OpenpiVector[];
  readonly pictures: readonly OpenpiPicture[];
  readonly space: OpenpiSpace;
  /** Of tool deltas. */
  readonly frame: "base" | "tool" | undefined;
  /** Of deltas: what each row is against. */
  readonly eachRowFrom: "state" | "row_before" | undefined;
  /** Rows of an answer, and how many of them may be executed. */
  readonly horizon: number;
  readonly executedRowCount: number;
  readonly dtNs: Duration;
  readonly columns: readonly OpenpiColumn[];
};
