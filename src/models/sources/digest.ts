/** The sha256 of files. */
import { basename } from "node:path";
import { NodeError } from "../../core/errors.ts";
import type { Progress } from "../../core/progress.ts";
import { sizeOf } from "../file-size.ts";
import { knownDigest, noteDigest } from "./known-digests.ts";

/** A digest of what a file holds, to go on with. */
export async function hashOf(
  path: string,
  onBytes: (count: number) => void = () => {},
): Promise<Bun.CryptoHasher> {
  const hash = new Bun.CryptoHasher("sha256");
  let done = 0;
  for await (const chunk of Bun.file(path).stream()) {
    hash.update(chunk);
    done += chunk.length;
    onBytes(done);
  }
  return hash;
}

export interface DigestOptions {
  /** Where models are kept, and what was computed before. */
  folder: string;
  progress: Progress;
  signal: AbortSignal;
}

/** Computed once for a file that stays as it is. */
export async function digestOf(path: string, options: DigestOptions): Promise<string> {
  const { folder, progress, signal } = options;
  const known = await knownDigest(path, folder);
  if (known !== undefined) return known;
  const label = `Checking ${basename(path)}`;
  const step = progress.step(label, (await sizeOf(path)) ?? 0, "bytes");
  const hash = await hashOf(path, (count) => {
    signal.throwIfAborted();
    step.update(count);
  });
  step.finish();
  const digest = hash.digest("hex");
  await noteDigest(path, digest, folder);
  return digest;
}

/** For a file that was there before anybody said what it should be. */
export async function checkDigest(
  path: string,
  sha256: string,
  options: DigestOptions,
): Promise<void> {
  const found = await digestOf(path, options);
  if (found === sha256) return;
  throw new NodeError(
    "unavailable",
    `The file ${path} is there, but it is not the one it should be: its sha256 is ${found}, expected ${sha256}. Remove it and pull again, or check the digest ('sha256' under [[models]], or --sha256).`,
  );
}

/** A digest is of one file. */
export function checkOneFile(files: readonly string[], source: string): void {
  if (files.length === 1) return;
  throw new NodeError(
    "invalid_request",
    `A digest is of one file, and '${source}' has ${files.length}: leave sha256 out.`,
  );
}
