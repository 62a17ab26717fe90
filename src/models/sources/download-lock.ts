/** A lock file for downloads, which holds between processes and is released when its process dies. */
import { Database } from "bun:sqlite";
import { existsSync, rmSync } from "node:fs";
import { basename } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { hasCode } from "../../core/errors.ts";
import type { Progress, ProgressStep } from "../../core/progress.ts";

const pollMs = 250;

interface DownloadLock extends Disposable {
  /** Says that the file is complete, so that the lock file is removed with the lock. */
  done(): void;
}

/** Waits while another process downloads the file. */
export async function lockDownload(
  target: string,
  signal: AbortSignal,
  progress: Progress,
): Promise<DownloadLock> {
  const path = `${target}.lock`;
  const label = `Another process downloads ${basename(target)}; waiting`;
  let waiting: ProgressStep | undefined;
  for (;;) {
    const database = tryLock(path);
    if (database !== undefined) {
      waiting?.finish();
      let isDone = false;
      return {
        done() {
          isDone = true;
        },
        [Symbol.dispose]() {
          database.close();
          if (isDone) rmSync(path, { force: true });
        },
      };
    }
    waiting ??= progress.step(label, 0, "percent");
    await sleep(pollMs, undefined, { signal });
  }
}

/** SQLite's locks work between processes on every system, and are released when a process dies. */
function tryLock(path: string): Database | undefined {
  const database = new Database(path, { create: true });
  try {
    database.run("BEGIN EXCLUSIVE");
    return database;
  } catch (error) {
    database.close();
    const isBusy = hasCode(error, "SQLITE_BUSY");
    // The other process has completed the file and removed the lock file just now.
    if (isBusy || !existsSync(path)) return undefined;
    throw error;
  }
}
