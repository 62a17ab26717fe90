/** A name for what an answer depends on: it changes when the weights, the engine or the settings do, and only then. */
import { open } from "node:fs/promises";

const sampleBytes = 64 * 1024;
const samples = 64;

/**
 * A digest of a weights file that reads 4 MiB of it, whatever its size: the header and evenly
 * spaced samples. Two versions of a model differ all over; reading 40 GB at each start is no price
 * for telling apart files that differ in one byte.
 */
export async function weightsDigest(path: string): Promise<string> {
  await using file = await open(path, "r");
  const { size } = await file.stat();
  const hash = new Bun.CryptoHasher("sha256").update(String(size));
  const stride = Math.max(sampleBytes, Math.floor(size / samples));
  const buffer = new Uint8Array(sampleBytes);
  for (let position = 0; position < size; position += stride) {
    const { bytesRead } = await file.read(buffer, 0, sampleBytes, position);
    hash.update(buffer.subarray(0, bytesRead));
  }
  return hash.digest("hex");
}

/** `fp_<hex>` */
export function fingerprint(parts: Readonly<Record<string, unknown>>): string {
  const digest = new Bun.CryptoHasher("sha256").update(JSON.stringify(parts)).digest("hex");
  return `fp_${digest.slice(0, 12)}`;
}
