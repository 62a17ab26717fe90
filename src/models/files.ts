/** Writes model files atomically, in folders that only their owner can read. */
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { hasCode, NodeError } from "../core/errors.ts";
import { quoted } from "../core/quoted.ts";

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

/** Most bytes of a model file's name: file systems allow 255, and files beside it add to it. */
const longestName = 220;

export function checkFileName(name: string, source: string): void {
  const bytes = Buffer.byteLength(name);
  if (bytes <= longestName) return;
  const why = `The file of ${quoted(source)} would be called '${name.slice(0, 20)}…', which is too long: ${bytes} bytes of at most ${longestName}. Download it under another name, and put it into the models folder.`;
  throw new NodeError("invalid_request", why, { param: "source" });
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
