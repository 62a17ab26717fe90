/** A partial download: its bytes so far, checks of the response, and a lock between processes. */
import { Database } from "bun:sqlite";
import { existsSync, rmSync, statSync } from "node:fs";
import { open, rename, rm, statfs, writeFile } from "node:fs/promises";
import { basename } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Static, Type as T } from "@sinclair/typebox";
import { byteSize } from "../../core/byte-size.ts";
import { hasCode, NodeError } from "../../core/errors.ts";
import type { Progress, ProgressStep } from "../../core/progress.ts";
import { readJsonFile } from "../../validation/json-file.ts";
import { sizeOf } from "../files.ts";
import type { SourceResponse } from "./http-request.ts";

const Note = T.Object({
  total: T.Optional(T.Integer()),
  /** The server's ETag of this version of the file. */
  etag: T.Optional(T.String()),
  digest: T.Optional(T.String()),
});

export type PartNote = Static<typeof Note>;

export class PartialFile {
  readonly path: string;
  readonly #target: string;

  constructor(target: string) {
    this.#target = target;
    this.path = `${target}.part`;
  }

  async read(): Promise<{ bytes: number; note: PartNote }> {
    const [note, bytes] = [await readJsonFile(Note, this.#notePath), await sizeOf(this.path)];
    // Nothing was begun, or the process ended before the note was written.
    if (note === undefined || bytes === undefined) return { bytes: 0, note: {} };
    return { bytes, note };
  }

  async begin(note: PartNote): Promise<void> {
    // First, so that an old note never describes new bytes.
    await rm(this.#notePath, { force: true });
    await writeFile(this.path, "");
    await writeFile(this.#notePath, JSON.stringify(note));
  }

  /** `bytes`: how many the file has, unless something else moved or changed it meanwhile. */
  async finish(bytes: number): Promise<void> {
    if ((await sizeOf(this.path)) !== bytes) {
      const why = `${this.path} was moved, or changed, while it was downloaded. Leave it where it is, and pull the model again.`;
      await this.dropFor(new NodeError("unavailable", why));
    }
    {
      await using file = await open(this.path, "r+");
      await file.sync();
    }
    await rename(this.path, this.#target);
    await rm(this.#notePath, { force: true });
  }

  async remove(): Promise<void> {
    await rm(this.path, { force: true });
    await rm(this.#notePath, { force: true });
  }

  /** If there is a problem that resuming cannot fix, removes the download and throws. */
  async dropFor(problem: NodeError | undefined): Promise<void> {
    if (problem === undefined) return;
    await this.remove();
    throw problem;
  }

  get #notePath(): string {
    return `${this.path}.json`;
  }
}

const magic = new TextEncoder().encode("GGUF");

/** Bytes that are needed to tell whether a file is a GGUF. */
export const headLength = magic.length;

export function headProblem(head: Uint8Array, host: string): NodeError | undefined {
  if (magic.every((byte, at) => head[at] === byte)) return undefined;
  const shown = JSON.stringify(new TextDecoder().decode(head.slice(0, 16)));
  return new NodeError(
    "unavailable",
    `What ${host} sends is no GGUF file (it begins with ${shown}). Give the address of the file itself, not of a page about it.`,
  );
}

export function checkLength(
  { response, url, size }: SourceResponse,
  total: number | undefined,
  digest: string | undefined,
): void {
  const { host } = new URL(url);
  if (total === undefined) {
    if (response.headers.has("transfer-encoding") || digest !== undefined) return;
    throw new NodeError(
      "unavailable",
      `${host} does not say how long the file is, so nobody could tell a whole one from a cut one. Give its digest: paddock pull --sha256 HEX.`,
    );
  }
  if (size === undefined || size === total) return;
  throw new NodeError(
    "unavailable",
    `${host} would send ${total} bytes, but the hub says that the file has ${size}.`,
  );
}

export async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

export async function checkRoom(folder: string, bytes: number, source: string): Promise<void> {
  const free = await freeBytes(folder);
  if (bytes <= free) return;
  throw new NodeError(
    "unavailable",
    `There is too little room for '${source}': ${byteSize(bytes)} are needed and ${byteSize(free)} are free in ${folder}. Make room, or set data_dir to a larger disk.`,
  );
}

const pollMs = 250;

/** `done`: there is nothing to go on with, so the lock file is removed with the lock. */
type DownloadLock = Disposable & { done(): void };

/** Waits while another process downloads the file. */
export async function lockDownload(
  target: string,
  signal: AbortSignal,
  progress: Progress,
): Promise<DownloadLock> {
  const label = `Another process downloads ${basename(target)}; waiting`;
  let waiting: ProgressStep | undefined;
  for (;;) {
    const lock = tryDownloadLock(target);
    if (lock !== undefined) {
      waiting?.finish();
      return lock;
    }
    waiting ??= progress.step(label, 0, "percent");
    await sleep(pollMs, undefined, { signal });
  }
}

/** Undefined while the file is being downloaded. */
export function tryDownloadLock(target: string): DownloadLock | undefined {
  const path = `${target}.lock`;
  const database = tryLock(path);
  if (database === undefined) return undefined;
  let isDone = false;
  return {
    done() {
      isDone = true;
    },
    [Symbol.dispose]() {
      // While it is held, so that a process that waits for it sees that it is gone.
      const isRemoved = isDone && removed(path);
      database.close();
      // Some systems do not remove an open file.
      if (isDone && !isRemoved) rmSync(path, { force: true });
    },
  };
}

const fileAt = (path: string): number | undefined => statSync(path, { throwIfNoEntry: false })?.ino;

function removed(path: string): boolean {
  try {
    rmSync(path, { force: true });
    return true;
  } catch {
    return false;
  }
}

/** SQLite's locks work between processes on every system, and are released when a process dies. */
function tryLock(path: string): Database | undefined {
  const before = fileAt(path);
  const database = new Database(path, { create: true });
  try {
    database.run("BEGIN EXCLUSIVE");
    const now = fileAt(path);
    if (now !== undefined && (before === undefined || before === now)) return database;
    database.close();
    return undefined;
  } catch (error) {
    database.close();
    const isBusy = hasCode(error, "SQLITE_BUSY");
    // The other process may have just completed the file and removed the lock file.
    if (isBusy || !existsSync(path)) return undefined;
    throw error;
  }
}
