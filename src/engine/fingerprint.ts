/** The `system_fingerprint`, which changes only with the weights, the engine or the settings. */
import { open } from "node:fs/promises";
import { partsOf } from "../core/models/model-files.ts";

const sampleBytes = 64 * 1024;
const samples = 64;
/** Fewest samples per file, for a model in many files. */
const fewestSamples = 8;

/** Digest of samples of each file: versions differ everywhere, and reading 40 GB is too slow. */
export async function weightsDigest(path: string): Promise<string> {
  const files = partsOf(path);
  const [first = path] = files;
  // Must stay as it is: collections store this digest for models in one file.
  if (files.length === 1) return await fileDigest(first, samples);
  const each = Math.max(fewestSamples, Math.ceil(samples / files.length));
  const hash = new Bun.CryptoHasher("sha256");
  // All files are sampled: the first one of some models holds nothing but metadata.
  for (const file of files) hash.update(await fileDigest(file, each));
  return hash.digest("hex");
}

async function fileDigest(path: string, count: number): Promise<string> {
  await using file = await open(path, "r");
  const { size } = await file.stat();
  const hash = new Bun.CryptoHasher("sha256").update(String(size));
  const stride = Math.max(sampleBytes, Math.floor(size / count));
  const buffer = new Uint8Array(sampleBytes);
  for (let position = 0; position < size; position += stride) {
    const { bytesRead } = await file.read(buffer, 0, sampleBytes, position);
    hash.update(buffer.subarray(0, bytesRead));
  }
  return hash.digest("hex");
}

export function fingerprint(parts: Readonly<Record<string, unknown>>): string {
  const digest = new Bun.CryptoHasher("sha256").update(JSON.stringify(parts)).digest("hex");
  return `fp_${digest.slice(0, 12)}`;
}
