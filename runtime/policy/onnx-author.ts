// Writes small ONNX models, for tests: the few messages of onnx.proto that they need, by hand.
// Field numbers are those of https://github.com/onnx/onnx/blob/main/onnx/onnx.proto.

type Bytes = readonly number[];

const FLOAT = 1;
const INT64 = 7;
const IR_VERSION = 8;
const OPSET = 17;

export const onnxTypes = { float32: FLOAT, int64: INT64 } as const;

export type AuthoredNode = {
  readonly op: string;
  readonly inputs: readonly string[];
  readonly output: string;
  /** Whole numbers, or lists of them. */
  readonly attributes?: Readonly<Record<string, number | readonly number[]>>;
};

export type AuthoredPort = {
  readonly name: string;
  readonly shape: readonly (number | string)[];
  readonly typeCode?: number;
};

export type AuthoredModel = {
  readonly nodes: readonly AuthoredNode[];
  /** Float32 tensors by name. */
  readonly constants?: Readonly<Record<string, { shape: readonly number[]; rows: number[] }>>;
  readonly inputs: readonly AuthoredPort[];
  readonly outputs: readonly AuthoredPort[];
};

export function onnxModel(model: AuthoredModel): Uint8Array {
  const { nodes, constants = {}, inputs, outputs } = model;
  const graph = [
    ...nodes.flatMap((each) => field(1, node(each))),
    ...field(2, "graph"),
    ...Object.entries(constants).flatMap(([name, { shape, rows }]) =>
      field(5, tensor(name, shape, rows)),
    ),
    ...inputs.flatMap((each) => field(11, port(each))),
    ...outputs.flatMap((each) => field(12, port(each))),
  ];
  return Uint8Array.from([
    ...field(1, IR_VERSION),
    ...field(7, graph),
    ...field(8, field(2, OPSET)),
  ]);
}

function node({ op, inputs, output, attributes = {} }: AuthoredNode): Bytes {
  return [
    ...inputs.flatMap((name) => field(1, name)),
    ...field(2, output),
    ...field(4, op),
    ...Object.entries(attributes).flatMap(([name, value]) =>
      field(5, [...field(1, name), ...attribute(value)]),
    ),
  ];
}

const INT = 2;
const INTS = 7;

function attribute(value: number | readonly number[]): Bytes {
  if (typeof value === "number") return [...field(3, value), ...field(20, INT)];
  return [...value.flatMap((each) => field(8, each)), ...field(20, INTS)];
}

function tensor(name: string, shape: readonly number[], values: readonly number[]): Bytes {
  const raw = new Uint8Array(Float32Array.from(values).buffer);
  const sizes = shape.flatMap((size) => field(1, size));
  return [...sizes, ...field(2, FLOAT), ...field(8, name), ...field(9, [...raw])];
}

function port({ name, shape, typeCode = FLOAT }: AuthoredPort): Bytes {
  const sizes = shape.flatMap((size) =>
    field(1, typeof size === "number" ? field(1, size) : field(2, size)),
  );
  const tensorType = [...field(1, typeCode), ...field(2, sizes)];
  return [...field(1, name), ...field(2, field(1, tensorType))];
}

/** A number as a varint, a text or bytes with their length. */
function field(number: number, value: number | string | Bytes): Bytes {
  if (typeof value === "number") return [...varint(number * 8), ...varint(value)];
  const bytes = typeof value === "string" ? [...Buffer.from(value)] : value;
  return [...varint(number * 8 + 2), ...varint(bytes.length), ...bytes];
}

function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return [...bytes, rest];
}
