/** Bytes that look like a model's file to whoever only fetches it. */

export function modelBytes(length: number, seed = 1): Uint8Array {
  const bytes = Uint8Array.from({ length }, (_, at) => (at * 31 + seed * 17) % 251);
  bytes.set(new TextEncoder().encode("GGUF"));
  return bytes;
}

export const sha256Of = (bytes: Uint8Array): string =>
  new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
