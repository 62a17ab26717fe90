/** Reads the weights of safetensors and ONNX files, one tensor at a time. Their digests are verified before. */
import { closeSync, openSync, readSync } from "node:fs";
import { Type as T } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";

/** Tensors by their PyTorch names. */
export type Weights = ReadonlyMap<string, Weight>;

interface Weight {
  shape: readonly number[];
  /** Row-major. */
  values(): Promise<Float32Array>;
}

const StoredTensor = T.Object({
  dtype: T.String(),
  shape: T.Array(T.Integer()),
  data_offsets: T.Tuple([T.Integer(), T.Integer()]),
});
const Header = T.Record(T.String(), T.Union([StoredTensor, T.Record(T.String(), T.String())]));

export async function readSafetensors(path: string): Promise<Weights> {
  const length = Number(new DataView(await readBytes(path, 0, 8)).getBigUint64(0, true));
  const base = 8 + length;
  const text = new TextDecoder().decode(await readBytes(path, 8, base));
  const weights = new Map<string, Weight>();
  for (const [name, entry] of Object.entries(Value.Decode(Header, JSON.parse(text)))) {
    if (!Value.Check(StoredTensor, entry)) continue; // __metadata__
    const { dtype, shape, data_offsets: offsets } = entry;
    const values = async (): Promise<Float32Array> => {
      const buffer = await readBytes(path, base + offsets[0], base + offsets[1]);
      if (dtype === "F32") return new Float32Array(buffer);
      if (dtype === "F16") return Float32Array.from(new Float16Array(buffer));
      throw new Error(`Tensor '${name}' is stored as ${dtype}; F32 and F16 are read`);
    };
    weights.set(name, { shape, values });
  }
  return weights;
}

async function readBytes(path: string, start: number, end: number): Promise<ArrayBuffer> {
  const file = Bun.file(path);
  // Checked before reading, so that no memory is taken for what the file does not have.
  const isThere = start <= end && end <= file.size;
  const bytes = isThere ? await file.slice(start, end).arrayBuffer() : undefined;
  if (bytes?.byteLength === end - start) return bytes;
  throw new Error("The weights' file is shorter than its header says");
}

const model = { graph: 7 } as const;
const graph = { node: 1, initializer: 5 } as const;
const node = { input: 1, name: 3, operation: 4 } as const;
const tensor = { dims: 1, type: 2, name: 8, raw: 9 } as const;
const float = 1;

/** Matrices of layers are stored transposed and without a name; the MatMul node identifies them. */
export async function readOnnx(path: string): Promise<Weights> {
  const file = new ProtobufFile(path);
  try {
    const parts = [...file.fields({ start: 0, end: Bun.file(path).size })]
      .filter(({ number }) => number === model.graph)
      .flatMap((part) => [...file.fields(part)]);
    const layers = new Map(
      parts.flatMap((part) => (part.number === graph.node ? layersOf(file, part) : [])),
    );
    const weights = parts.flatMap((part) => {
      if (part.number !== graph.initializer) return [];
      return weightsOf(file, part).map(({ name, shape, data }): [string, Weight] => {
        const values = async (): Promise<Float32Array> =>
          new Float32Array(await readBytes(path, data.start, data.end));
        const layer = layers.get(name);
        return layer === undefined
          ? [name, { shape, values }]
          : [layer, transposed({ shape, values })];
      });
    });
    return new Map(weights);
  } finally {
    file.close();
  }
}

function transposed({ shape, values }: Weight): Weight {
  const [rows = 0, columns = 0] = shape;
  return {
    shape: shape.toReversed(),
    async values() {
      const before = await values();
      const turned = new Float32Array(before.length);
      // Iterates over the values, since a shape may have any number of empty rows.
      for (const [at, value] of before.entries()) {
        turned[(at % columns) * rows + Math.floor(at / columns)] = value;
      }
      return turned;
    },
  };
}

/** `/encoder/layer.0/output/dense/MatMul` takes the weight of `encoder.layer.0.output.dense`. */
function layersOf(file: ProtobufFile, part: Span): [matrix: string, layer: string][] {
  const inputs: string[] = [];
  let [name, operation] = ["", ""];
  for (const field of file.fields(part)) {
    if (field.number === node.input) inputs.push(file.text(field));
    if (field.number === node.name) name = file.text(field);
    if (field.number === node.operation) operation = file.text(field);
  }
  const [, path] = /^\/(.+)\/MatMul$/.exec(name) ?? [];
  const matrix = inputs[1];
  if (operation !== "MatMul" || path === undefined || !matrix?.startsWith("onnx::")) return [];
  return [[matrix, `${path.replaceAll("/", ".")}.weight`]];
}

/** None for a tensor that holds no floats. */
function weightsOf(
  file: ProtobufFile,
  part: Span,
): { name: string; shape: readonly number[]; data: Span }[] {
  const shape: number[] = [];
  let [name, type] = ["", 0];
  let data: Span | undefined;
  for (const field of file.fields(part)) {
    if (field.number === tensor.dims) shape.push(field.value ?? -1);
    if (field.number === tensor.type) type = field.value ?? 0;
    if (field.number === tensor.name) name = file.text(field);
    if (field.number === tensor.raw) data = field;
  }
  if (type !== float) return [];
  const count = shape.reduce((product, size) => product * size, 1);
  if (data === undefined || data.end - data.start !== 4 * count) {
    throw new Error(`Tensor '${name}' has other bytes than its shape says`);
  }
  return [{ name, shape, data }];
}

interface Span {
  start: number;
  end: number;
}

interface ProtobufField extends Span {
  number: number;
  value: number | undefined;
}

/** A varint has at most ten bytes, a field's head at most two varints. */
const longestHead = 20;
const longestText = 4096;

class ProtobufFile {
  readonly #file: number;

  constructor(path: string) {
    this.#file = openSync(path, "r");
  }

  *fields({ start, end }: Span): Generator<ProtobufField> {
    for (let at = start; at < end; ) {
      const head = this.#bytes(at, Math.min(longestHead, end - at));
      const key = varint(head, 0);
      const [number, kind] = [Math.floor(key.value / 8), key.value % 8];
      const said = kind === 0 || kind === 2 ? varint(head, key.next) : undefined;
      const from = at + (said?.next ?? key.next);
      const length = { 0: 0, 1: 8, 2: said?.value, 5: 4 }[kind];
      if (length === undefined || number === 0 || from + length > end) throw notRead();
      at = from + length;
      yield { number, value: kind === 0 ? said?.value : undefined, start: from, end: at };
    }
  }

  text({ start, end }: Span): string {
    if (end - start > longestText) throw notRead();
    return new TextDecoder().decode(this.#bytes(start, end - start));
  }

  close(): void {
    closeSync(this.#file);
  }

  #bytes(start: number, length: number): Uint8Array {
    const bytes = new Uint8Array(length);
    if (readSync(this.#file, bytes, 0, length, start) !== length) throw notRead();
    return bytes;
  }
}

function varint(bytes: Uint8Array, from: number): { value: number; next: number } {
  let value = 0;
  for (let index = 0; index < 10; index++) {
    const byte = bytes[from + index];
    if (byte === undefined) break;
    value += (byte & 127) * 2 ** (7 * index);
    if (byte < 128) return { value, next: from + index + 1 };
  }
  throw notRead();
}

const notRead = (): Error => new Error("The weights' file is cut off, or no protobuf message");
