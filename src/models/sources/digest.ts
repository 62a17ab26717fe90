/** sha256 digests of files, cached until a file changes. */
import { stat } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { type Static, Type as T } from "@sinclair/typebox";
import { NodeError } from "../../core/errors.ts";
import { partsOf } from "../../core/models/model-files.ts";
import type { Progress } from "../../core/progress.ts";
import { readJsonFile } from "../../validation/json-file.ts";
import { sizeOf, writeAtomically } from "../files.ts";

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
  folder: string;
  progress: Progress;
  signal: AbortSignal;
}

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

export async function checkDigest(
  path: string,
  source: string,
  options: DigestOptions & { sha256?: string },
): Promise<void> {
  const { sha256 } = options;
  if (sha256 === undefined) return;
  checkOneFile(partsOf(path), source);
  const found = await digestOf(path, options);
  if (found === sha256) return;
  throw new NodeError(
    "unavailable",
    `The file ${path} is there, but it is not the one it should be: its sha256 is ${found}, expected ${sha256}. Remove it and pull again, or check the digest ('sha256' under [[models]], or --sha256).`,
  );
}

export const wrongDigest = (source: string, found: string, expected: string): NodeError =>
  new NodeError(
    "unavailable",
    `The file of '${source}' is not the one it should be, and was removed: its sha256 is ${found}, expected ${expected}. Fetch it again, or check the digest.`,
  );

export function checkOneFile(files: readonly string[], source: string): void {
  if (files.length === 1) return;
  throw new NodeError(
    "invalid_request",
    `A digest is of one file, and '${source}' has ${files.length}: leave sha256 out.`,
  );
}

/** In the models folder. It is a cache, and can be deleted. */
const fileName = "digests.json";

const Entry = T.Object({
  bytes: T.Number(),
  modifiedMs: T.Number(),
  /** ctime: set by the system whenever the file or its name changes; programs cannot set it. */
  changedMs: T.Number(),
  sha256: T.String(),
});
const Digests = T.Record(T.String(), Entry);
type Digests = Static<typeof Digests>;

/** A cached digest, by the file's size and times: hashing 40 GB at every start is too slow. */
async function knownDigest(path: string, folder: string): Promise<string | undefined> {
  const entry = (await read(folder))[resolve(path)];
  const now = { ...(await stampOf(path)), sha256: entry?.sha256 };
  return Bun.deepEquals(entry, now) ? entry?.sha256 : undefined;
}

let lastNote: Promise<void> = Promise.resolve();

/** Does nothing in a read-only folder: the digest is then computed again next time. One at a time, so that none is lost. */
export function noteDigest(path: string, sha256: string, folder: string): Promise<void> {
  const noted = lastNote.then(() => addDigest(path, sha256, folder));
  lastNote = noted.catch(() => {});
  return noted;
}

async function addDigest(path: string, sha256: string, folder: string): Promise<void> {
  const stamp = await stampOf(path);
  if (stamp === undefined) return;
  const digests: Digests = {};
  for (const [known, entry] of Object.entries(await read(folder))) {
    if ((await stampOf(known)) !== undefined) digests[known] = entry;
  }
  digests[resolve(path)] = { ...stamp, sha256 };
  const text = `${JSON.stringify(digests, null, 2)}\n`;
  await writeAtomically(join(folder, fileName), (file) => file.writeFile(text)).catch(() => {});
}

async function stampOf(path: string): Promise<Omit<Static<typeof Entry>, "sha256"> | undefined> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return undefined;
  return { bytes: found.size, modifiedMs: found.mtimeMs, changedMs: found.ctimeMs };
}

const read = async (folder: string): Promise<Digests> =>
  (await readJsonFile(Digests, join(folder, fileName))) ?? {};
