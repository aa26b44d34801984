// OnnxModel: one model of onnxruntime's WebAssembly build, in the thread that loads it. One thread,
// the wasm file embedded: nothing is fetched, from source, in a Worker and in the compiled binary.
//
// What the library says is its own text; whoever loads a model puts it into a refusal.

import { env, InferenceSession, Tensor } from "onnxruntime-web/wasm";
import wasmPath from "onnxruntime-web/ort-wasm-simd-threaded.wasm" with { type: "file" };

/** The embedded file that `OnnxModel.load` is given the bytes of. */
export const ONNX_WASM_PATH = wasmPath;

/** An input or output as the model declares it. */
export type OnnxPort = {
  readonly name: string;
  /** Such as `float32`; `no tensor` for a sequence or a map. */
  readonly type: string;
  /** A text is a size that the model leaves open. */
  readonly shape: readonly (number | string)[];
};

export type OnnxValue = {
  readonly shape: readonly number[];
  readonly values: Float32Array;
};

export class OnnxModel {
  readonly inputs: readonly OnnxPort[];
  readonly outputs: readonly OnnxPort[];
  readonly #session: InferenceSession;
  /** The library runs one thing at a time. */
  #running: Promise<unknown> = Promise.resolve();

  private constructor(session: InferenceSession) {
    this.#session = session;
    this.inputs = session.inputMetadata.map(portOf);
    this.outputs = session.outputMetadata.map(portOf);
  }

  /** Rejects with the library's words for bytes that are no model it can run. */
  static async load(bytes: Uint8Array, wasm: Uint8Array): Promise<OnnxModel> {
    env.wasm.numThreads = 1;
    env.wasm.proxy = false;
    env.logLevel = "error";
    env.wasm.wasmBinary = wasm;
    const session = await InferenceSession.create(bytes, {
      executionProviders: ["wasm"],
      intraOpNumThreads: 1,
      interOpNumThreads: 1,
    });
    return new OnnxModel(session);
  }

  /** The output of that name for these inputs. Rejects when the model fails. */
  async run(inputs: ReadonlyMap<string, OnnxValue>, output: string): Promise<OnnxValue> {
    const feeds: Record<string, Tensor> = {};
    for (const [name, { values, shape }] of inputs) {
      feeds[name] = new Tensor("float32", values, shape);
    }
    const before = this.#running;
    const ran = (async () => {
      await before.catch(() => undefined); // whoever asked for it hears of it
      return this.#session.run(feeds, [output]);
    })();
    this.#running = ran;
    const tensor = (await ran)[output];
    if (!(tensor?.data instanceof Float32Array)) {
      throw new Error(`the model gave no float32 values as "${output}"`);
    }
    return { shape: tensor.dims, values: tensor.data };
  }
}

function portOf(metadata: InferenceSession.ValueMetadata): OnnxPort {
  const { name } = metadata;
  if (!metadata.isTensor) return { name, type: "no tensor", shape: [] };
  return { name, type: metadata.type, shape: metadata.shape };
}
