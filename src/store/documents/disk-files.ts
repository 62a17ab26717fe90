/** Stores uploaded files in the data dir: written to a temporary file, synced and renamed, so that none is incomplete. */
import { constants, existsSync } from "node:fs";
import { access, type FileHandle, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { hasCode, NodeError, reasonOf } from "../../core/errors.ts";
import type { FileStore, IncomingFile } from "../../core/ports/file-store.ts";
import { folderOfOwner, ownerOnly } from "../database.ts";

const part = ".part";
/** Folder of files without a record; they stay readable, but are not served. */
const aside = "orphaned";
/** Enough to detect any known format. */
const headBytes = 8192;

export class DiskFiles implements FileStore {
  readonly #folder: string;
  /** Names of the files being received, whether or not they have a record yet. */
  readonly #coming = new Set<string>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  async place(): Promise<string | undefined> {
    const found = await stat(this.#folder).catch((error: unknown) => {
      if (isAbsent(error)) return undefined;
      throw error;
    });
    return found && `${found.dev}:${found.ino}`;
  }

  async receive(
    pieces: AsyncIterable<Uint8Array>,
    admit: (bytes: number) => Promise<void>,
  ): Promise<IncomingFile> {
    const name = `${crypto.randomUUID()}${part}`;
    const path = join(this.#folder, name);
    this.#coming.add(name);
    let stored: string | undefined;
    const end = async (): Promise<void> => {
      this.#coming.delete(stored ?? name);
      // One that cannot be deleted now, as on a disk that only reads, is deleted at the next start.
      if (stored === undefined) await rm(path, { force: true }).catch(() => {});
    };
    try {
      const written = await this.#write(path, pieces, admit);
      return {
        ...written,
        save: async (id) => {
          // It may have no record until the upload is disposed of.
          this.#coming.add(id);
          await translated(async () => {
            await rename(path, join(this.#folder, id));
            await syncFolder(this.#folder);
          });
          this.#coming.delete(name);
          stored = id;
        },
        [Symbol.asyncDispose]: end,
      };
    } catch (error) {
      await end();
      throw error;
    }
  }

  async open(id: string): Promise<Blob | undefined> {
    for (const path of this.#pathsOf(id)) {
      try {
        await access(path, constants.R_OK);
      } catch (cause) {
        if (isAbsent(cause)) continue;
        const why = `The content of the file '${id}' cannot be read: ${reasonOf(cause)}. Give this user the right to read the data dir.`;
        throw new NodeError("unavailable", why, { cause });
      }
      const file = Bun.file(path);
      if (await file.exists()) return file;
    }
    return undefined;
  }

  async remove(id: string): Promise<boolean> {
    let wasThere = false;
    for (const path of this.#pathsOf(id)) {
      try {
        await rm(path);
        wasThere = true;
      } catch (error) {
        if (!isAbsent(error)) throw error;
      }
    }
    return wasThere;
  }

  async names(): Promise<{ stored: string[]; orphaned: string[] }> {
    const stored = await filesIn(this.#folder);
    return {
      stored: stored.filter((name) => !name.endsWith(part) && !this.#coming.has(name)),
      orphaned: await filesIn(join(this.#folder, aside)),
    };
  }

  async setAside(name: string): Promise<void> {
    await mkdir(join(this.#folder, aside), { recursive: true, mode: folderOfOwner });
    await move(join(this.#folder, name), join(this.#folder, aside, name));
  }

  async takeBack(name: string): Promise<void> {
    await move(join(this.#folder, aside, name), join(this.#folder, name));
  }

  async removeUnfinished(): Promise<void> {
    for (const name of await filesIn(this.#folder)) {
      if (name.endsWith(part) && !this.#coming.has(name)) await this.remove(name);
    }
  }

  /** One that was set aside may have its record back since. */
  #pathsOf(id: string): string[] {
    return [join(this.#folder, id), join(this.#folder, aside, id)];
  }

  async #write(
    path: string,
    pieces: AsyncIterable<Uint8Array>,
    admit: (bytes: number) => Promise<void>,
  ): Promise<Pick<IncomingFile, "bytes" | "sha256" | "head">> {
    const hash = new Bun.CryptoHasher("sha256");
    const head: Uint8Array[] = [];
    let bytes = 0;
    await translated(() => mkdir(this.#folder, { recursive: true, mode: folderOfOwner }));
    await using file = await translated(() => open(path, "wx", ownerOnly));
    for await (const piece of pieces) {
      await admit(piece.length);
      if (bytes < headBytes) head.push(piece.slice(0, headBytes - bytes));
      hash.update(piece);
      bytes += piece.length;
      await translated(() => writeAll(file, piece));
    }
    await translated(() => file.sync());
    return { bytes, sha256: hash.digest("hex"), head: Buffer.concat(head) };
  }
}

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    if (isAbsent(error)) return [];
    throw error;
  });
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
}

const isAbsent = (error: unknown): boolean => hasCode(error, "ENOENT") || hasCode(error, "ENOTDIR");

/** Never overwrites another file. One that was deleted meanwhile need not be moved. */
async function move(from: string, to: string): Promise<void> {
  if (existsSync(to)) throw new Error(`${from} and ${to} are both there`);
  try {
    await rename(from, to);
  } catch (error) {
    if (!isAbsent(error)) throw error;
  }
}

/** If a disk is nearly full, a write may be partial. */
async function writeAll(file: FileHandle, piece: Uint8Array): Promise<void> {
  for (let at = 0; at < piece.length; ) {
    at += (await file.write(piece, at, piece.length - at)).bytesWritten;
  }
}

/** Makes the new name survive a crash; not every system can sync a folder. */
async function syncFolder(path: string): Promise<void> {
  try {
    await using folder = await open(path, "r");
    await folder.sync();
  } catch (error) {
    if (hasCode(error, "ENOSPC") || hasCode(error, "EIO")) throw error;
  }
}

async function translated<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (cause) {
    const why =
      hasCode(cause, "ENOSPC") || hasCode(cause, "EDQUOT")
        ? "the disk is full. Free some space, then send it again"
        : `${reasonOf(cause)}. Give this user the right to write to the data dir, and look at its disk`;
    throw new NodeError("unavailable", `The file cannot be stored: ${why}.`, { cause });
  }
}
