/** Writes GGUF v3, the file format of llama.cpp: metadata and tensors, one tensor in memory at a time. */

export type MetadataValue =
  | { type: "uint32" | "float32"; value: number }
  | { type: "bool"; value: boolean }
  | { type: "string"; value: string }
  | { type: "strings"; value: readonly string[] }
  | { type: "int32s" | "float32s"; value: readonly number[] };

export interface Tensor {
  name: string;
  /** Innermost dimension first, as llama.cpp counts. */
  shape: readonly number[];
  type: TensorType;
  /** The values in row-major order; called when the tensor's turn comes. */
  values: () => Float32Array | Promise<Float32Array>;
}

export interface Gguf {
  metadata: Readonly<Record<string, MetadataValue>>;
  tensors: readonly Tensor[];
}

const alignment = 32;
const typeIds = { uint32: 4, int32: 5, float32: 6, bool: 7, string: 8, array: 9 } as const;
const tensorTypeIds: Record<TensorType, number> = { f32: 0, f16: 1, q8_0: 8 };

export interface ByteSink {
  writeFile(bytes: Uint8Array): Promise<void>;
}

export async function writeGguf(file: ByteSink, { metadata, tensors }: Gguf): Promise<void> {
  const entries = Object.entries(metadata);
  const header = [Buffer.from("GGUF"), uint32(3), uint64(tensors.length), uint64(entries.length)];
  for (const [key, value] of entries) header.push(string(key), Buffer.concat(encodeEntry(value)));
  let offset = 0;
  for (const { name, shape, type } of tensors) {
    header.push(string(name), uint32(shape.length), ...shape.map(uint64));
    header.push(uint32(tensorTypeIds[type]), uint64(offset));
    offset += align(tensorBytes(type, count(shape)));
  }
  const put = async (bytes: Uint8Array): Promise<void> => {
    await file.writeFile(bytes);
    const padding = align(bytes.length) - bytes.length;
    if (padding > 0) await file.writeFile(new Uint8Array(padding));
  };
  await put(Buffer.concat(header));
  for (const tensor of tensors) {
    const values = await tensor.values();
    if (values.length !== count(tensor.shape)) {
      throw new Error(`Tensor ${tensor.name} has ${values.length} values for its shape`);
    }
    await put(encodeTensor(tensor.type, values));
  }
}

/** Numbers are little-endian, as on every machine that llama.cpp has libraries for. */
const bytesOf = ({ buffer }: { buffer: ArrayBuffer }): Buffer => Buffer.from(buffer);
const uint32 = (value: number): Buffer => bytesOf(Uint32Array.of(value));
const uint64 = (value: number): Buffer => bytesOf(BigUint64Array.of(BigInt(value)));
const string = (text: string): Buffer =>
  Buffer.concat([uint64(Buffer.byteLength(text)), Buffer.from(text)]);

function encodeEntry(entry: MetadataValue): Buffer[] {
  switch (entry.type) {
    case "uint32":
      return [uint32(typeIds.uint32), uint32(entry.value)];
    case "float32":
      return [uint32(typeIds.float32), bytesOf(Float32Array.of(entry.value))];
    case "bool":
      return [uint32(typeIds.bool), bytesOf(Uint8Array.of(entry.value ? 1 : 0))];
    case "string":
      return [uint32(typeIds.string), string(entry.value)];
    case "strings":
      return [...listHead("string", entry.value), ...entry.value.map(string)];
    case "int32s":
      return [...listHead("int32", entry.value), bytesOf(Int32Array.from(entry.value))];
    case "float32s":
      return [...listHead("float32", entry.value), bytesOf(Float32Array.from(entry.value))];
  }
}

const listHead = (type: keyof typeof typeIds, { length }: readonly unknown[]): Buffer[] => [
  uint32(typeIds.array),
  uint32(typeIds[type]),
  uint64(length),
];

export function fitsBlocks(type: TensorType, rowLength: number): boolean {
  return rowLength % blockSizes[type].values === 0;
}

const align = (size: number): number => Math.ceil(size / alignment) * alignment;
const count = (shape: readonly number[]): number => shape.reduce((product, size) => product * size);

export type TensorType = "f32" | "f16" | "q8_0";

export const blockSizes: Record<TensorType, { values: number; bytes: number }> = {
  f32: { values: 1, bytes: 4 },
  f16: { values: 1, bytes: 2 },
  q8_0: { values: 32, bytes: 34 },
};

export function tensorBytes(type: TensorType, values: number): number {
  const block = blockSizes[type];
  return (values / block.values) * block.bytes;
}

export function encodeTensor(type: TensorType, values: Float32Array): Uint8Array {
  switch (type) {
    case "f32":
      return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
    case "f16":
      return new Uint8Array(Float16Array.from(values).buffer);
    case "q8_0":
      return encodeQ8(values);
  }
}

/** Blocks of 32: an f16 scale, then 32 signed bytes. */
function encodeQ8(values: Float32Array): Uint8Array {
  const block = blockSizes.q8_0;
  const bytes = new Uint8Array(tensorBytes("q8_0", values.length));
  const view = new DataView(bytes.buffer);
  const quantised = new Int8Array(bytes.buffer);
  for (let start = 0, at = 0; start < values.length; start += block.values, at += block.bytes) {
    let largest = 0;
    for (let index = start; index < start + block.values; index++) {
      largest = Math.max(largest, Math.abs(values[index] ?? 0));
    }
    const scale = largest / 127;
    const inverse = scale === 0 ? 0 : 1 / scale;
    view.setFloat16(at, scale, true);
    for (let index = 0; index < block.values; index++) {
      quantised[at + 2 + index] = Math.round((values[start + index] ?? 0) * inverse);
    }
  }
  return bytes;
}
