/** The bounds of a process that reads a document: how long it works, and what it holds. */
import { readFile } from "node:fs/promises";
import type { NodeError } from "../core/errors.ts";
import { unreadable } from "./readers/unreadable.ts";

export interface ReadingBounds {
  /** Seconds that a file may take. */
  read_timeout: number;
  /** Megabytes of memory that reading may take; seen on Linux only. */
  read_memory: number;
}

const memoryEveryMs = 100;

export interface Watch {
  /** The time stands still until `resume`. */
  pause(): void;
  resume(): void;
  /** What it took too much of, where it was ended. */
  stop(): NodeError | undefined;
}

/** Ends the process when a file takes too much. */
export function watched(
  process: Bun.Subprocess,
  { read_timeout: seconds, read_memory: megabytes }: ReadingBounds,
): Watch {
  let excess: NodeError | undefined;
  let isOver = false;
  const end = (why: string): void => {
    // The document may have been finished while the memory was being read.
    if (isOver) return;
    excess ??= unreadable(why);
    process.kill("SIGKILL");
  };
  let leftMs = seconds * 1000;
  let since = 0;
  let timer: Timer | undefined;
  const resume = (): void => {
    since = performance.now();
    timer = setTimeout(
      () => end(`takes more than ${seconds} s to read; divide it, or raise ingest.read_timeout`),
      leftMs,
    );
  };
  const pause = (): void => {
    clearTimeout(timer);
    leftMs -= performance.now() - since;
  };
  resume();
  const looking = setInterval(async () => {
    const bytes = await residentBytes(process.pid);
    if (bytes <= megabytes * 1e6) return;
    end(
      `takes more than ${megabytes} MB of memory to read; divide it, or raise ingest.read_memory`,
    );
  }, memoryEveryMs);
  return {
    pause,
    resume,
    stop() {
      isOver = true;
      clearTimeout(timer);
      clearInterval(looking);
      return excess;
    },
  };
}

/** 0 where the platform does not tell. */
async function residentBytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
}
