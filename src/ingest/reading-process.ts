/** Reads documents in a process that can be killed: a hostile file can make libraries use any time and memory. */
import { readFile } from "node:fs/promises";
import { constants, setPriority } from "node:os";
import { onAbort } from "../core/abort.ts";
import { type ErrorKind, hasCode, NodeError } from "../core/errors.ts";
import type { Program } from "../subprocess/program.ts";
import type { Chunk, ChunkSizes } from "./chunk.ts";
import type { CutDocuments } from "./passages.ts";
import { unreadable } from "./readers/limits.ts";
import type { ReadOptions } from "./readers/read.ts";

/** The hidden command that runs a reading process; see cli/reader.ts. */
export const readerCommand = "reader";

export type ToReader =
  | ({
      type: "cut";
      documents: Parameters<CutDocuments>[0];
      options: Partial<ReadOptions>;
    } & ChunkSizes)
  | { type: "counted"; tokens: readonly number[] };

export type FromReader =
  | { type: "listening" }
  /** Only the parent process has the model that counts tokens. */
  | { type: "count"; texts: string[] }
  /** `of`: the place of their document in the message. */
  | { type: "chunks"; chunks: readonly (Chunk & { of: number })[] }
  | { type: "cut"; refusals: readonly { of: number; kind: ErrorKind; message: string }[] }
  | { type: "failed"; message: string };

export interface ReadingOptions extends ReadingBounds {
  program: Program;
  /** Whether to run at a low priority, for a node that serves meanwhile. */
  isBackground?: boolean;
}

type Child = ReturnType<typeof start>;

export class ReadingProcess implements AsyncDisposable {
  readonly #options: ReadingOptions;
  #child: Child | undefined;

  constructor(options: ReadingOptions) {
    this.#options = options;
  }

  /** Reads and splits documents, one call after the other. If one of several ends the process, each is read alone. */
  readonly cut: CutDocuments = async (documents, options, cutting) => {
    const together = await this.#cut(documents, options, cutting);
    if (!(together instanceof NodeError)) return together;
    if (documents.length === 1) return [together];
    const outcomes: Awaited<ReturnType<CutDocuments>> = [];
    for (const document of documents)
      outcomes.push(...(await this.cut([document], options, cutting)));
    return outcomes;
  };

  /** Returns why the process had to end; the next call gets a new one. */
  async #cut(
    ...[documents, options, cutting]: Parameters<CutDocuments>
  ): Promise<Awaited<ReturnType<CutDocuments>> | NodeError> {
    const { countTokens, signal, maxTokens, overlapTokens } = cutting;
    const child = await this.#running(signal);
    signal.throwIfAborted();
    const watch = watched(child.process, this.#options);
    // Not only killed: the next document must not be given to a process that is about to end.
    using _ = onAbort(signal, () => void this.#end());
    const cut = documents.map((): Chunk[] => []);
    child.send({ type: "cut", documents, options, maxTokens, overlapTokens });
    for (;;) {
      const answer = await child.next();
      if (answer?.type === "count") {
        // Time spent counting does not count against the document.
        watch.pause();
        const tokens = await countTokens(answer.texts).catch(async (error: unknown) => {
          watch.stop();
          // It waits for a count that never comes.
          await this.#end();
          throw error;
        });
        watch.resume();
        child.send({ type: "counted", tokens });
      } else if (answer?.type === "chunks") {
        for (const { of, ...chunk } of answer.chunks) cut[of]?.push(chunk);
      } else {
        const excess = watch.stop();
        if (answer?.type === "cut") {
          const refused = new Map(answer.refusals.map((refusal) => [refusal.of, refusal]));
          return cut.map((chunks, at) => {
            const refusal = refused.get(at);
            return refusal === undefined ? chunks : new NodeError(refusal.kind, refusal.message);
          });
        }
        await this.#end();
        signal.throwIfAborted();
        const ended = "it ended the process that read it";
        const why = answer?.type === "failed" ? answer.message : ended;
        return excess ?? unreadable(`cannot be read: ${why}`);
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end();
  }

  /** A process that ended while it was idle is replaced. */
  async #running(signal: AbortSignal): Promise<Child> {
    const known = this.#child;
    if (known?.process.killed === false && known.process.exitCode === null) return known;
    if (known !== undefined) await this.#end();
    const child = start(this.#options);
    this.#child = child;
    // One that hangs before it reads would hold up the caller's files for ever.
    const watch = watched(child.process, this.#options);
    using _ = onAbort(signal, () => void this.#end());
    const first = await child.next();
    watch.stop();
    if (first?.type === "listening") return child;
    await this.#end();
    signal.throwIfAborted();
    throw new NodeError("internal", "The process that reads documents did not start.");
  }

  async #end(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    child?.process.kill("SIGKILL");
    await child?.process.exited;
  }
}

/** The program's file may be replaced by that of another version just now: this speaks against no document. */
function unlessAway<Result>(begin: () => Result): Result {
  try {
    return begin();
  } catch (cause) {
    if (!["ENOENT", "EACCES", "ETXTBSY"].some((code) => hasCode(cause, code))) throw cause;
    const why =
      "The program that reads documents cannot be started: its file was moved, replaced or closed to this user since the node started. Put it back.";
    throw new NodeError("unavailable", why, { cause });
  }
}

function start({ program: { command, env }, isBackground = false }: ReadingOptions) {
  const heard: (FromReader | undefined)[] = [];
  let wake = (): void => {};
  const hear = (message: FromReader | undefined): void => {
    heard.push(message);
    wake();
  };
  const process = unlessAway(() =>
    Bun.spawn([...command, readerCommand], {
      env,
      stdio: ["ignore", "ignore", "ignore"],
      serialization: "advanced",
      ipc: (message: FromReader) => hear(message),
      onExit: () => hear(undefined),
    }),
  );
  try {
    if (isBackground) setPriority(process.pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // A node with a lower priority gave it that one, and only an administrator may raise it.
  }
  return {
    process,
    send(message: ToReader): void {
      try {
        process.send(message);
      } catch {
        // It was killed while working, for example because of its memory; `next` reports that.
      }
    },
    /** The next message; undefined if the process has ended. */
    async next(): Promise<FromReader | undefined> {
      while (heard.length === 0) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      return heard.shift();
    },
  };
}

interface ReadingBounds {
  read_timeout: number;
  /** Megabytes of memory that reading may use; only enforced on Linux. */
  read_memory: number;
}

const lookEveryMs = 100;

function watched(
  process: Bun.Subprocess,
  { read_timeout: seconds, read_memory: megabytes }: ReadingBounds,
) {
  let excess: NodeError | undefined;
  let isOver = false;
  const end = (why: string): void => {
    // The document may have been finished while the memory was being read.
    if (isOver) return;
    excess ??= unreadable(why);
    process.kill("SIGKILL");
  };
  let leftMs = seconds * 1000;
  let isPaused = false;
  // In looks, not by the clock: while this process is stopped, nobody is told that a document was read.
  const looking = setInterval(async () => {
    if (!isPaused) leftMs -= lookEveryMs;
    if (leftMs <= 0)
      end(`takes more than ${seconds} s to read; divide it, or raise ingest.read_timeout`);
    const bytes = await residentBytes(process.pid);
    if (bytes <= megabytes * 1e6) return;
    end(
      `takes more than ${megabytes} MB of memory to read; divide it, or raise ingest.read_memory`,
    );
  }, lookEveryMs);
  return {
    pause: () => {
      isPaused = true;
    },
    resume: () => {
      isPaused = false;
    },
    /** The limit that was exceeded, if the process was killed. */
    stop(): NodeError | undefined {
      isOver = true;
      clearInterval(looking);
      return excess;
    },
  };
}

/** 0 if the platform does not report it. */
async function residentBytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
}
