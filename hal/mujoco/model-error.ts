// MujocoModelError: a model that cannot serve the robot profile. It names the model file, the
// thing that is wrong, what was expected of it and what was found; nothing is half built.

export type MujocoModelErrorCode =
  | "model_invalid"
  | "joint_missing"
  | "joint_kind"
  | "actuator_missing"
  | "body_missing"
  | "camera_missing"
  | "shape_kind"
  | "shape_count"
  | "object_name"
  | "parameter";

export class MujocoModelError extends Error {
  override readonly name = "MujocoModelError";
  readonly code: MujocoModelErrorCode;
  readonly modelPath: string;
  /** The element or parameter that is wrong. */
  readonly element: string;
  readonly expected: string;
  readonly found: string;

  constructor(
    code: MujocoModelErrorCode,
    modelPath: string,
    element: string,
    expected: string,
    found: string,
  ) {
    super(`Cannot build "${modelPath}": ${element}: expected ${expected}, found ${found}`);
    this.code = code;
    this.modelPath = modelPath;
    this.element = element;
    this.expected = expected;
    this.found = found;
  }
}
