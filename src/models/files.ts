/** Writes model files atomically, in folders that only their owner can read. */
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { hasCode, NodeError } from "../core/errors.ts";

const suffix = ".part";
/** A file that is being written changes all the time; one unchanged for this long was abandoned. */
const abandonedAfterMs = 10 * 60 * 1000;

export async function writeAtomically(
  path: string,
  write: (file: FileHandle) => Promise<void>,
): Promise<void> {
  await makePrivateFolder(dirname(path));
  await removeAbandoned(path);
  const partial = `${path}.${crypto.randomUUID()}${suffix}`;
  const file = await open(partial, "wx");
  try {
    try {
      await write(file);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(partial, path);
  } catch (error) {
    await rm(partial, { force: true });
    if (!hasCode(error, "ENOSPC") && !hasCode(error, "EDQUOT")) throw error;
    const why = `${path} cannot be written: the disk is full. Free some space, then do it again.`;
    throw new NodeError("unavailable", why, { cause: error });
  }
}

async function removeAbandoned(path: string): Promise<void> {
  const folder = dirname(path);
  for (const name of await readdir(folder)) {
    if (!name.startsWith(`${basename(path)}.`) || !name.endsWith(suffix)) continue;
    const partial = join(folder, name);
    const age = await stat(partial).then(
      ({ mtimeMs }) => Date.now() - mtimeMs,
      () => 0, // removed meanwhile
    );
    if (age > abandonedAfterMs) await rm(partial, { force: true });
  }
}

const ownerOnly = 0o700;

/** Does not change the permissions of folders that exist. */
export async function makePrivateFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: ownerOnly });
}

export async function sizeOf(path: string): Promise<number | undefined> {
  return await stat(path).then(
    ({ size }) => size,
    () => undefined,
  );
}
