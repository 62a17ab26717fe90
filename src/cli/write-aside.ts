/** Writes a file of the user's beside its place and renames it: it is whole, or as it was. */
import { lstatSync } from "node:fs";
import { chmod, open, realpath, rename, rm, stat } from "node:fs/promises";
import { reasonOf } from "../core/errors.ts";
import { CommandError } from "./shell.ts";

export interface AsidePlace {
  path: string;
  /** As the user named it. */
  shown: string;
  /** What to do where there is a file already; absent: it is replaced, behind a link too. */
  otherwise?: string;
}

export async function writeAside(
  { path, shown, otherwise }: AsidePlace,
  lines: AsyncIterable<string> | Iterable<string>,
): Promise<void> {
  const checkFree = (): void => {
    // A link to no file is there too, and would be replaced.
    if (otherwise === undefined || !isThere(path)) return;
    throw new CommandError(`${shown} is there already${otherwise}`);
  };
  checkFree();
  let aside: string | undefined;
  try {
    const place = isThere(path) ? await realpath(path) : path;
    aside = `${place}.${crypto.randomUUID()}.part`;
    {
      await using file = await open(aside, "wx");
      // Unlike 'write', it writes all or fails, where the disk is nearly full.
      for await (const line of lines) await file.writeFile(line);
      await file.sync();
    }
    // It may have come meanwhile, and 'rename' would replace it.
    checkFree();
    if (isThere(place)) await chmod(aside, (await stat(place)).mode & 0o777);
    await rename(aside, place);
  } catch (cause) {
    if (aside !== undefined) await rm(aside, { force: true });
    if (cause instanceof CommandError) throw cause;
    throw new CommandError(`${shown} was not written: ${reasonOf(cause)}.`, { cause });
  }
}

const isThere = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined;
