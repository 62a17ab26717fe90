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
  const header = new ByteWriter();
  header.ascii("GGUF").uint32(3).uint64(tensors.length).uint64(Object.keys(metadata).length);
  for (const [key, value] of Object.entries(metadata)) writeEntry(header, key, value);
  let offset = 0;
  for (const { name, shape, type } of tensors) {
    header.string(name).uint32(shape.length);
    for (const size of shape) header.uint64(size);
    header.uint32(tensorTypeIds[type]).uint64(offset);
    offset += align(tensorBytes(type, count(shape)));
  }
  const put = async (bytes: Uint8Array): Promise<void> => {
    await file.writeFile(bytes);
    const padding = align(bytes.length) - bytes.length;
    if (padding > 0) await file.writeFile(new Uint8Array(padding));
  };
  await put(header.bytes());
  for (const tensor of tensors) {
    const values = await tensor.values();
    if (values.length !== count(tensor.shape)) {
      throw new Error(`Tensor ${tensor.name} has ${values.length} values for its shape`);
    }
    await put(encodeTensor(tensor.type, values));
  }
}

export function fitsBlocks(type: TensorType, rowLength: number): boolean {
  return rowLength % blockSizes[type].values === 0;
}

function writeEntry(out: ByteWriter, key: string, entry: MetadataValue): void {
  out.string(key);
  switch (entry.type) {
    case "uint32":
    case "float32":
      out.uint32(typeIds[entry.type])[entry.type](entry.value);
      break;
    case "bool":
      out.uint32(typeIds.bool).byte(entry.value ? 1 : 0);
      break;
    case "string":
      out.uint32(typeIds.string).string(entry.value);
      break;
    case "strings":
      out.uint32(typeIds.array).uint32(typeIds.string).uint64(entry.value.length);
      for (const item of entry.value) out.string(item);
      break;
    case "int32s":
    case "float32s": {
      const type = entry.type === "int32s" ? "int32" : "float32";
      out.uint32(typeIds.array).uint32(typeIds[type]).uint64(entry.value.length);
      for (const item of entry.value) out[type](item);
    }
  }
}

const align = (size: number): number => Math.ceil(size / alignment) * alignment;
const count = (shape: readonly number[]): number => shape.reduce((product, size) => product * size);

/** Collects bytes; numbers are little-endian, as on every machine that llama.cpp has libraries for. */
class ByteWriter {
  readonly #parts: Uint8Array[] = [];

  bytes(): Uint8Array {
    return Buffer.concat(this.#parts);
  }

  byte(value: number): this {
    return this.#add(Uint8Array.of(value));
  }

  int32(value: number): this {
    return this.#add(Int32Array.of(value));
  }

  uint32(value: number): this {
    return this.#add(Uint32Array.of(value));
  }

  float32(value: number): this {
    return this.#add(Float32Array.of(value));
  }

  uint64(value: number): this {
    return this.#add(BigUint64Array.of(BigInt(value)));
  }

  ascii(text: string): this {
    return this.#add(Buffer.from(text));
  }

  string(text: string): this {
    return this.uint64(Buffer.byteLength(text)).#add(Buffer.from(text));
  }

  #add({ buffer, byteOffset, byteLength }: NodeJS.ArrayBufferView): this {
    this.#parts.push(new Uint8Array(buffer, byteOffset, byteLength));
    return this;
  }
}

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
