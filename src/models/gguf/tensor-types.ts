/** The number formats that GGUF tensors are written in. */

export type TensorType = "f32" | "f16" | "q8_0";

/** How many values make a block, and how many bytes it takes. */
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
