/** The sha256 of files. */
import { basename } from "node:path";
import { NodeError } from "../../core/errors.ts";
import type { Progress } from "../../core/progress.ts";
import { sizeOf } from "../file-size.ts";
import { knownDigest, noteDigest } from "./known-digests.ts";

/** The hash of a file so far, to be updated with what is appended to it. */
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
  /** Where models and their known digests are kept. */
  folder: string;
  progress: Progress;
  signal: AbortSignal;
}

/** The digest of a file, computed again only where the file changed. */
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

/** Checks a file that exists already against an expected digest. */
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

/** Refuses a digest for a model in several files. */
export function checkOneFile(files: readonly string[], source: string): void {
  if (files.length === 1) return;
  throw new NodeError(
    "invalid_request",
    `A digest is of one file, and '${source}' has ${files.length}: leave sha256 out.`,
  );
}
