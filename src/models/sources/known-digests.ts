/** A cache of digests by the size and times of their files, so that a start does not hash 40 GB again. */
import { readFile, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { type Static, Type as T } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { writeAtomically } from "../atomic-file.ts";

/** In the models folder; losing it costs time only. */
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

export async function knownDigest(path: string, folder: string): Promise<string | undefined> {
  const [entry, now] = [(await read(folder))[resolve(path)], await stampOf(path)];
  const isSame =
    entry?.bytes === now?.bytes &&
    entry?.modifiedMs === now?.modifiedMs &&
    entry?.changedMs === now?.changedMs;
  return isSame ? entry?.sha256 : undefined;
}

/** In a read-only folder nothing is noted, and the digest is computed again next time. */
export async function noteDigest(path: string, sha256: string, folder: string): Promise<void> {
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

async function read(folder: string): Promise<Digests> {
  try {
    const digests: unknown = JSON.parse(await readFile(join(folder, fileName), "utf8"));
    return Value.Check(Digests, digests) ? digests : {};
  } catch {
    return {}; // no file yet
  }
}
