/** Removes transcoded files that are of no use any more: of replaced weights, or left by a process that died. */
import { readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { Type as T } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { reasonOf } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import type { Quantization } from "../../core/models/quantization.ts";
import { formerTranscodedName, madeFromSuffix, markOf } from "../../core/models/transcoded-name.ts";

const Note = T.Object({ source: T.String() });
/** A file that is being written changes all the time; one unchanged for this long was abandoned. */
const abandonedAfterMs = 10 * 60 * 1000;

export async function noteSource(target: string, source: string): Promise<void> {
  await writeFile(`${target}${madeFromSuffix}`, JSON.stringify({ source }));
}

export interface Made {
  /** The file that it was made from, and the digest of its weights. */
  source: string;
  digest: string;
  type: Quantization;
  folder: string;
}

/** A start does not depend on it, so a failure is logged and not thrown. */
export async function clearSuperseded(made: Made, log: Log): Promise<void> {
  const { folder, source, digest, type } = made;
  try {
    const names = await readdir(folder);
    for (const name of names) {
      if (await isAbandoned(folder, name)) await rm(join(folder, name), { force: true });
      if (!name.endsWith(madeFromSuffix) || name.includes(markOf(digest))) continue;
      if ((await sourceOf(join(folder, name))) !== source) continue;
      const file = basename(name, madeFromSuffix);
      await rm(join(folder, file), { force: true });
      await rm(join(folder, name), { force: true });
      log.info("a transcoded file of replaced weights was removed", { file });
    }
    const former = formerTranscodedName(basename(source), type);
    // A file that was fetched under this name is a model of its own.
    const isFetched = names.includes(`${former}.origin.json`);
    if (former === basename(source) || isFetched || !names.includes(former)) return;
    log.warn(
      "a transcoded file does not say what it was made from and is not used; remove it with 'paddock models rm'",
      { file: former },
    );
  } catch (error) {
    log.warn("what was transcoded before cannot be cleared away", { why: reasonOf(error) });
  }
}

async function isAbandoned(folder: string, name: string): Promise<boolean> {
  if (!/\.gguf\.[0-9a-f-]{36}\.part$/i.test(name)) return false;
  const found = await stat(join(folder, name)).catch(() => undefined);
  return found !== undefined && Date.now() - found.mtimeMs > abandonedAfterMs;
}

async function sourceOf(path: string): Promise<string | undefined> {
  try {
    const note: unknown = JSON.parse(await readFile(path, "utf8"));
    return Value.Check(Note, note) ? note.source : undefined;
  } catch {
    return undefined; // removed meanwhile, or half written
  }
}
