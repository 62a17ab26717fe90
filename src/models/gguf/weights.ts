/** Reads the weights of safetensors and ONNX files, one tensor at a time. */
import { Type as T } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import type { Weights } from "./import-bert.ts";

const StoredTensor = T.Object({
  dtype: T.String(),
  shape: T.Array(T.Integer()),
  data_offsets: T.Tuple([T.Integer(), T.Integer()]),
});
const Header = T.Record(T.String(), T.Union([StoredTensor, T.Record(T.String(), T.String())]));

interface SafetensorsEntry {
  dtype: string;
  shape: readonly number[];
  start: number;
  end: number;
}

export class SafetensorsFile implements Weights {
  readonly #path: string;
  readonly #entries: ReadonlyMap<string, SafetensorsEntry>;

  private constructor(path: string, entries: ReadonlyMap<string, SafetensorsEntry>) {
    this.#path = path;
    this.#entries = entries;
  }

  static async open(path: string): Promise<SafetensorsFile> {
    const length = Number(new DataView(await readBytes(path, 0, 8)).getBigUint64(0, true));
    const base = 8 + length;
    const text = new TextDecoder().decode(await readBytes(path, 8, base));
    const entries = new Map<string, SafetensorsEntry>();
    for (const [name, entry] of Object.entries(Value.Decode(Header, JSON.parse(text)))) {
      if (!Value.Check(StoredTensor, entry)) continue; // __metadata__
      const [start, end] = entry.data_offsets;
      const { dtype, shape } = entry;
      entries.set(name, { dtype, shape, start: base + start, end: base + end });
    }
    return new SafetensorsFile(path, entries);
  }

  entry(name: string): SafetensorsEntry {
    return tensorOf(this.#entries, name);
  }

  async values(name: string): Promise<Float32Array> {
    const { dtype, start, end } = this.entry(name);
    const buffer = await readBytes(this.#path, start, end);
    if (dtype === "F32") return new Float32Array(buffer);
    if (dtype === "F16") return Float32Array.from(new Float16Array(buffer));
    throw new Error(`Tensor '${name}' is stored as ${dtype}; F32 and F16 are read`);
  }
}

async function readBytes(path: string, start: number, end: number): Promise<ArrayBuffer> {
  const file = Bun.file(path);
  // Checked before reading: the offsets come from an untrusted file.
  const isThere = start <= end && end <= file.size;
  const bytes = isThere ? await file.slice(start, end).arrayBuffer() : undefined;
  if (bytes?.byteLength === end - start) return bytes;
  throw new Error("The weights' file is shorter than its header says");
}

function tensorOf<Tensor>(tensors: ReadonlyMap<string, Tensor>, name: string): Tensor {
  const tensor = tensors.get(name);
  if (tensor === undefined) throw new Error(`The weights have no tensor '${name}'`);
  return tensor;
}

const model = { graph: 7 } as const;
const graph = { node: 1, initializer: 5 } as const;
const node = { input: 1, name: 3, operation: 4 } as const;
const tensor = { dims: 1, type: 2, name: 8, raw: 9 } as const;
const float = 1;

const mostTensors = 10_000;
const mostNodes = 200_000;
const mostDims = 8;

interface OnnxTensor {
  shape: readonly number[];
  data: ProtobufField;
  /** Whether it is stored column-major. */
  isTransposed: boolean;
}

/** An ONNX file, with the weights under their PyTorch names. */
export class OnnxFile implements Weights {
  readonly #file: ProtobufFile;
  readonly #entries: ReadonlyMap<string, OnnxTensor>;

  private constructor(file: ProtobufFile, entries: ReadonlyMap<string, OnnxTensor>) {
    this.#file = file;
    this.#entries = entries;
  }

  static async open(path: string): Promise<OnnxFile> {
    const file = new ProtobufFile(path);
    return new OnnxFile(file, await readEntries(file));
  }

  entry(name: string): { shape: readonly number[] } {
    const { shape, isTransposed } = tensorOf(this.#entries, name);
    return { shape: isTransposed ? shape.toReversed() : shape };
  }

  async values(name: string): Promise<Float32Array> {
    const { shape, data, isTransposed } = tensorOf(this.#entries, name);
    const { buffer } = await this.#file.bytes(data.start, data.end);
    const values = new Float32Array(buffer);
    const [rows = 0, columns = 0] = shape;
    return isTransposed ? transposed(values, rows, columns) : values;
  }
}

function transposed(values: Float32Array, rows: number, columns: number): Float32Array {
  const turned = new Float32Array(values.length);
  // Iterates over the values, since an untrusted shape may have any number of empty rows.
  for (const [at, value] of values.entries()) {
    turned[(at % columns) * rows + Math.floor(at / columns)] = value;
  }
  return turned;
}

/** Matrices of layers are stored transposed and without a name; the MatMul node identifies them. */
async function readEntries(file: ProtobufFile): Promise<Map<string, OnnxTensor>> {
  const found = new Map<string, OnnxTensor>();
  const layers = new Map<string, string>();
  let nodes = 0;
  for await (const part of file.fields(0, file.size)) {
    if (part.number !== model.graph) continue;
    for await (const field of file.fields(part.start, part.end)) {
      if (field.number === graph.node) {
        if (++nodes > mostNodes) throw tooMany();
        const layer = await readLayer(file, field);
        if (layer !== undefined) layers.set(layer.matrix, layer.name);
      }
      if (field.number === graph.initializer) {
        if (found.size >= mostTensors) throw tooMany();
        const [name, entry] = await readTensor(file, field);
        found.set(name, entry);
      }
    }
  }
  const named = [...found].map(([name, entry]): [string, OnnxTensor] => {
    const layer = layers.get(name);
    return layer === undefined ? [name, entry] : [layer, { ...entry, isTransposed: true }];
  });
  return new Map(named);
}

/** `/encoder/layer.0/output/dense/MatMul` takes the weight of `encoder.layer.0.output.dense`. */
async function readLayer(
  file: ProtobufFile,
  { start, end }: ProtobufField,
): Promise<{ name: string; matrix: string } | undefined> {
  const inputs: string[] = [];
  let [name, operation] = ["", ""];
  for await (const field of file.fields(start, end)) {
    if (field.number === node.input) inputs.push(await file.text(field));
    if (field.number === node.name) name = await file.text(field);
    if (field.number === node.operation) operation = await file.text(field);
    if (inputs.length > mostDims) return undefined;
  }
  const [, path] = /^\/(.+)\/MatMul$/.exec(name) ?? [];
  const matrix = inputs[1];
  if (operation !== "MatMul" || path === undefined || !matrix?.startsWith("onnx::")) {
    return undefined;
  }
  return { name: `${path.replaceAll("/", ".")}.weight`, matrix };
}

async function readTensor(
  file: ProtobufFile,
  { start, end }: ProtobufField,
): Promise<[name: string, entry: OnnxTensor]> {
  const shape: number[] = [];
  let [name, type] = ["", 0];
  let data: ProtobufField | undefined;
  for await (const field of file.fields(start, end)) {
    if (field.number === tensor.dims) shape.push(field.value ?? -1);
    if (field.number === tensor.type) type = field.value ?? 0;
    if (field.number === tensor.name) name = await file.text(field);
    if (field.number === tensor.raw) data = field;
    if (shape.length > mostDims) throw tooMany();
  }
  const count = shape.reduce((product, size) => product * size, 1);
  if (type !== float)
    return [name, { shape, data: { number: 0, start, end: start }, isTransposed: false }];
  if (data === undefined || data.end - data.start !== 4 * count) {
    throw new Error(`Tensor '${name}' has other bytes than its shape says`);
  }
  return [name, { shape, data, isTransposed: false }];
}

const tooMany = (): Error => new Error("The weights' file has more parts than a model has");

interface ProtobufField {
  number: number;
  value?: number;
  start: number;
  end: number;
}

const windowBytes = 1 << 16;
/** A varint has at most ten bytes, a field's head at most two varints. */
const longestHead = 20;
const longestText = 4096;

class ProtobufFile {
  readonly size: number;
  readonly #file: Bun.BunFile;
  #window = new Uint8Array(0);
  #from = 0;

  constructor(path: string) {
    this.#file = Bun.file(path);
    this.size = this.#file.size;
  }

  async *fields(start: number, end: number): AsyncGenerator<ProtobufField> {
    let at = start;
    while (at < end) {
      await this.#load(at, Math.min(longestHead, this.size - at));
      const key = this.#varint(at);
      const number = Math.floor(key.value / 8);
      const kind = key.value % 8;
      if (kind === 0) {
        const { value, next } = this.#varint(key.next);
        yield { number, value, start: key.next, end: next };
        at = next;
        continue;
      }
      const length = kind === 2 ? this.#varint(key.next) : undefined;
      const from = length?.next ?? key.next;
      const bytes = length?.value ?? { 1: 8, 5: 4 }[kind];
      if (bytes === undefined || number === 0 || from + bytes > end) throw notRead();
      yield { number, start: from, end: from + bytes };
      at = from + bytes;
    }
  }

  async bytes(start: number, end: number): Promise<Uint8Array<ArrayBuffer>> {
    const bytes = await this.#file.slice(start, end).bytes();
    if (bytes.length !== end - start) throw notRead();
    return bytes;
  }

  async text({ start, end }: ProtobufField): Promise<string> {
    if (end - start > longestText) throw notRead();
    return new TextDecoder().decode(await this.bytes(start, end));
  }

  async #load(at: number, count: number): Promise<void> {
    if (at >= this.#from && at + count <= this.#from + this.#window.length) return;
    this.#window = await this.bytes(at, Math.min(this.size, at + windowBytes));
    this.#from = at;
  }

  #varint(at: number): { value: number; next: number } {
    let value = 0;
    for (let index = 0; index < 10; index++) {
      const byte = this.#window[at - this.#from + index];
      if (byte === undefined) break;
      value += (byte & 127) * 2 ** (7 * index);
      if (byte < 128) return { value, next: at + index + 1 };
    }
    throw notRead();
  }
}

const notRead = (): Error => new Error("The weights' file is cut off, or no protobuf message");
