/** One download of a file at a time, also between processes; the system lets go of it when a process dies. */
import { Database } from "bun:sqlite";
import { existsSync, rmSync } from "node:fs";
import { basename } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { hasCode } from "../../core/errors.ts";
import type { Progress, ProgressStep } from "../../core/progress.ts";

const pollMs = 250;

interface DownloadLock extends Disposable {
  /** The download is there, and nobody will write it again: its lock can go with this one. */
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

/** SQLite's own locks hold between processes on every system, and die with theirs. */
function tryLock(path: string): Database | undefined {
  const database = new Database(path, { create: true });
  try {
    database.run("BEGIN EXCLUSIVE");
    return database;
  } catch (error) {
    database.close();
    const isBusy = hasCode(error, "SQLITE_BUSY");
    // Its file was removed in this very moment: the other one is done.
    if (isBusy || !existsSync(path)) return undefined;
    throw error;
  }
}
