// OnnxPolicy: a model from an ONNX file as a policy. A state becomes its inputs by the mapping, its
// output becomes a chunk in the robot's order of joints. What is not finite goes on as it is, and
// is refused by name where every chunk is judged.

import type { ActionSchema, ChunkView } from "../contracts/action.ts";
import { OBS_SIDE_PX } from "../contracts/obs-transform.ts";
import type { JointPart, OnnxInput, OnnxMapping, OnnxPart, OnnxScale } from "../contracts/onnx.ts";
import { SequenceAllocator } from "../contracts/policy.ts";
import type { PictureReader, Policy } from "../contracts/policy.ts";
import { StateSlot } from "../contracts/state.ts";
import type { StateView } from "../contracts/state.ts";
import { ChunkWriter } from "./context.ts";
import type { PolicyContext } from "./context.ts";
import type { OnnxModel, OnnxValue } from "./onnx-engine.ts";
import { onnxColumns, onnxSchema } from "./onnx-fit.ts";

const COLOUR_COUNT = 3;
const PIXEL_COUNT = OBS_SIDE_PX * OBS_SIDE_PX;

type Runs = Pick<OnnxModel, "run">;

export class OnnxPolicy implements Policy {
  readonly name: string;
  readonly schema: ActionSchema;
  readonly selectsMode = false;
  readonly acceptsJpeg: boolean;
  readonly plan: { readonly horizon: number; readonly dtNs: OnnxMapping["output"]["dtNs"] };
  readonly #mapping: OnnxMapping;
  readonly #model: Runs;
  readonly #pictures: PictureReader | undefined;
  readonly #writer: ChunkWriter;
  /** For each joint of the model, where the state has it. */
  readonly #joints: readonly number[];
  /** For each column of ours, where the model has it. */
  readonly #columns: Int32Array;
  #allocator = new SequenceAllocator(0);

  /** The mapping has been found to fit. */
  constructor(mapping: OnnxMapping, model: Runs, context: PolicyContext) {
    const { output, joints, name } = mapping;
    this.name = name;
    this.schema = onnxSchema(mapping, context.robot);
    // A model that sees nothing is harmed by nothing.
    const looks = mapping.inputs.some(({ content }) => content.kind === "picture");
    this.acceptsJpeg = mapping.acceptsJpeg || !looks;
    this.plan = { horizon: output.horizon, dtNs: output.dtNs };
    this.#mapping = mapping;
    this.#model = model;
    this.#pictures = context.pictures;
    this.#writer = new ChunkWriter(this.schema, this.plan);
    this.#joints = joints.map((joint) => context.layout.jointNames.indexOf(joint));
    this.#columns = onnxColumns(mapping, this.schema);
  }

  reset(_epoch: number, allocator: SequenceAllocator): void {
    this.#allocator = allocator;
  }

  /** Decides nothing while a field or picture that the model wants is absent. */
  async act(state: StateView): Promise<ChunkView | null> {
    const allocator = this.#allocator;
    const inputs = new Map<string, OnnxValue>();
    for (const input of this.#mapping.inputs) {
      const values = this.#valuesOf(input, state);
      if (values === undefined) return null;
      inputs.set(input.name, { shape: input.shape, values });
    }
    const { values } = await this.#infer(inputs);
    this.#writeRows(this.#writer.begin(state, allocator), values);
    return this.#writer.chunk;
  }

  /** One answer to zeros, so that the first that counts is no slower and has the right size. */
  async warmUp(): Promise<void> {
    const inputs = this.#mapping.inputs.map(({ name, shape }): [string, OnnxValue] => [
      name,
      { shape, values: new Float32Array(sizeOf(shape)) },
    ]);
    await this.#infer(new Map(inputs));
  }

  async #infer(inputs: ReadonlyMap<string, OnnxValue>): Promise<OnnxValue> {
    const { name, shape } = this.#mapping.output;
    const answer = await this.#model.run(inputs, name);
    if (answer.shape.join() === shape.join()) return answer;
    const expected = `expected ${shape.join(" x ")}, found ${answer.shape.join(" x ")}`;
    throw new Error(`the model's output "${name}" has another size: ${expected}`);
  }

  #valuesOf(input: OnnxInput, state: StateView): Float32Array | undefined {
    const { content } = input;
    const out = new Float32Array(sizeOf(input.shape));
    if (content.kind === "picture") {
      const field = state.field(content.source);
      const pixels = field?.present === true ? this.#pictures?.transformed(field) : undefined;
      if (pixels === undefined || pixels === null) return undefined;
      writePixels(out, pixels, input, content);
      return out;
    }
    let at = 0;
    for (const part of content.parts) {
      const ours = this.#read(part, state);
      if (ours === undefined) return undefined;
      for (const value of ours) {
        out[at] = (value - meanAt(input, at)) / stdAt(input, at);
        at += 1;
      }
    }
    return out;
  }

  #read(part: OnnxPart, state: StateView): (ArrayLike<number> & Iterable<number>) | undefined {
    if (part.kind === "field") {
      const field = state.field(part.field);
      return field?.present === true ? field.values : undefined;
    }
    const ours = jointValues(part.part, state);
    return ours && this.#joints.map((joint) => ours[joint]!);
  }

  #writeRows(out: Float64Array, theirs: Float32Array): void {
    const { output } = this.#mapping;
    for (let row = 0; row < output.horizon; row += 1) {
      for (const [column, from] of this.#columns.entries()) {
        const value = theirs[row * output.widthCount + from]!;
        out[row * output.widthCount + column] = value * stdAt(output, from) + meanAt(output, from);
      }
    }
  }
}

function jointValues(part: JointPart, state: StateView): ArrayLike<number> | undefined {
  if (part === "position_rad") return state.positionRad;
  if (part === "command_rad") return state.command;
  return state.record[StateSlot.hasVelocity] === 1 ? state.velocityRadPerS : undefined;
}

type Picture = Extract<OnnxInput["content"], { kind: "picture" }>;

function writePixels(
  out: Float32Array,
  pixels: Uint8Array,
  scale: OnnxScale,
  picture: Picture,
): void {
  const { order, pixels: rule } = picture;
  const [divisor, offset] = rule === "x/255" ? [255, 0] : [127.5, 1];
  for (let pixel = 0; pixel < PIXEL_COUNT; pixel += 1) {
    for (let colour = 0; colour < COLOUR_COUNT; colour += 1) {
      const from = pixel * COLOUR_COUNT + colour;
      const to = order === "hwc" ? from : colour * PIXEL_COUNT + pixel;
      const value = pixels[from]! / divisor - offset;
      out[to] = (value - meanAt(scale, colour)) / stdAt(scale, colour);
    }
  }
}

const meanAt = ({ valueOffset }: OnnxScale, at: number): number => valueOffset[at] ?? 0;
const stdAt = ({ valueFactor }: OnnxScale, at: number): number => valueFactor[at] ?? 1;
const sizeOf = (shape: readonly number[]): number => shape.reduce((count, each) => count * each, 1);
