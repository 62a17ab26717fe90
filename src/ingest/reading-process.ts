/**
 * Reads documents in a process of its own: the libraries behind PDF and Word take as long and as
 * much memory as a hostile file makes them, and only a process can be ended amid its work.
 */

import { readFile } from "node:fs/promises";
import { NodeError } from "../core/errors.ts";
import type { Program } from "../subprocess/program.ts";
import type { ReadOptions, ReadText } from "./readers/read.ts";
import { unreadable } from "./readers/unreadable.ts";

/** The hidden command that is a reading process; see cli/reader.ts. */
export const readerCommand = "reader";

export interface ToReader {
  name: string;
  bytes: Uint8Array;
  options: Partial<ReadOptions>;
}

export type FromReader =
  | { type: "listening" }
  | { type: "read"; texts: ReadText }
  | { type: "refused"; message: string }
  | { type: "failed"; message: string };

export interface ReadingOptions {
  program: Program;
  /** Seconds that a file may take. */
  read_timeout: number;
  /** Megabytes of memory that reading may take; seen on Linux only. */
  read_memory: number;
}

const memoryEveryMs = 100;

interface Child {
  process: Bun.Subprocess;
  /** Hears the next message, or undefined when the process has ended. */
  next(): Promise<FromReader | undefined>;
}

export class ReadingProcess implements AsyncDisposable {
  readonly #options: ReadingOptions;
  #child: Child | undefined;

  constructor(options: ReadingOptions) {
    this.#options = options;
  }

  /** One document after the other; the next one after a failure has a process of its own again. */
  readonly read = async (
    name: string,
    bytes: Uint8Array,
    options: Partial<ReadOptions> = {},
  ): Promise<ReadText> => {
    let child = await this.#started();
    // A process that ended while it was idle is replaced.
    if (child.process.killed || child.process.exitCode !== null) {
      await this.#end();
      child = await this.#started();
    }
    const watch = watched(child.process, this.#options);
    child.process.send({ name, bytes, options } satisfies ToReader);
    const answer = await child.next();
    const excess = watch.stop();
    if (answer?.type === "read") return answer.texts;
    if (answer?.type === "refused") throw new NodeError("invalid_request", answer.message);
    await this.#end();
    if (excess !== undefined) throw excess;
    throw unreadable(
      `cannot be read: ${answer?.type === "failed" ? answer.message : "it ended the process that read it"}`,
    );
  };

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end();
  }

  async #started(): Promise<Child> {
    if (this.#child !== undefined) return this.#child;
    const child = start(this.#options);
    this.#child = child;
    const first = await child.next();
    if (first?.type === "listening") return child;
    await this.#end();
    throw new NodeError("internal", "The process that reads documents did not start.");
  }

  async #end(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    child?.process.kill("SIGKILL");
    await child?.process.exited;
  }
}

function start({ program: { command, env } }: ReadingOptions): Child {
  const heard: (FromReader | undefined)[] = [];
  let wake = (): void => {};
  const hear = (message: FromReader | undefined): void => {
    heard.push(message);
    wake();
  };
  const process = Bun.spawn([...command, readerCommand], {
    env,
    stdio: ["ignore", "ignore", "ignore"],
    serialization: "advanced",
    ipc: (message: FromReader) => hear(message),
    onExit: () => hear(undefined),
  });
  return {
    process,
    async next() {
      while (heard.length === 0) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      return heard.shift();
    },
  };
}

/** Ends the process when a file takes too much; `stop` says what of. */
function watched(
  process: Bun.Subprocess,
  { read_timeout: seconds, read_memory: megabytes }: ReadingOptions,
): { stop(): NodeError | undefined } {
  let excess: NodeError | undefined;
  let isOver = false;
  const end = (why: string): void => {
    // The document may have been finished while the memory was being read.
    if (isOver) return;
    excess ??= unreadable(why);
    process.kill("SIGKILL");
  };
  const timer = setTimeout(
    () => end(`takes more than ${seconds} s to read; divide it, or raise ingest.read_timeout`),
    seconds * 1000,
  );
  const looking = setInterval(async () => {
    const bytes = await residentBytes(process.pid);
    if (bytes <= megabytes * 1e6) return;
    end(
      `takes more than ${megabytes} MB of memory to read; divide it, or raise ingest.read_memory`,
    );
  }, memoryEveryMs);
  return {
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
