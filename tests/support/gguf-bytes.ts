/** Headers of GGUF files, byte by byte, so that they can say what no writer would. */

export const u32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
};

export const u64 = (value: number | bigint): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
};

export const text = (value: string): Buffer =>
  Buffer.concat([u64(Buffer.byteLength(value)), Buffer.from(value)]);

export const types = { u8: 0, u32: 4, f32: 6, text: 8, array: 9 } as const;

export const entry = (key: string, type: number, ...value: Buffer[]): Buffer =>
  Buffer.concat([text(key), u32(type), ...value]);

export const architecture = entry("general.architecture", types.text, text("llama"));

interface Counts {
  tensors?: number | bigint;
  keys: number | bigint;
}

export const header = ({ tensors = 0, keys }: Counts, ...rest: Buffer[]): Buffer =>
  Buffer.concat([Buffer.from("GGUF"), u32(3), u64(tensors), u64(keys), ...rest]);
