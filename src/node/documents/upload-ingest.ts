/** Ingests uploaded files with the node's embedding model, and a reading process that ends when it is idle. */
import type { Config } from "../../config/schema.ts";
import type { IngestFile } from "../../core/documents/ingest-file.ts";
import { NodeError } from "../../core/errors.ts";
import type { EmbeddingEngine } from "../../core/ports/embedding-engine.ts";
import { ingestOne } from "../../ingest/pipeline.ts";
import { ReadingProcess } from "../../ingest/reading-process.ts";
import type { Program } from "../../subprocess/program.ts";

export interface UploadIngestOptions {
  program: Program;
  ingest: Config["ingest"];
}

/** How long it waits for the next file. */
const idleMs = 30_000;

/** A reading process that waits for the next file of the owner whose files it has read. */
interface IdleReader {
  owner: string | undefined;
  reading: ReadingProcess;
  end: Timer;
}

export class UploadIngest implements AsyncDisposable {
  /** What passages are embedded with; absent until the model is loaded. */
  engine: EmbeddingEngine | undefined;
  readonly #options: UploadIngestOptions;
  #idle: IdleReader | undefined;

  constructor(options: UploadIngestOptions) {
    this.#options = options;
  }

  readonly ingest: IngestFile = async ({ file, content, document: name, chunking, ...job }) => {
    const { engine } = this;
    if (engine === undefined) {
      throw new NodeError("model_not_ready", "The embedding model is still being prepared.");
    }
    const bytes = new Uint8Array(await content.arrayBuffer());
    const read = async (): Promise<Uint8Array> => bytes;
    const source = { name, origin: "upload", bytes: file.bytes, sha256: file.sha256, read };
    return await ingestOne(source, {
      ...job,
      engine,
      // A smaller model may be configured since.
      sizes: { ...chunking, maxTokens: Math.min(chunking.maxTokens, engine.maxTokens) },
      cut: (...asked) => this.#reading(file.owner, ({ cut }) => cut(...asked)),
      limits: this.#options.ingest,
    });
  };

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#replaceIdle(undefined);
  }

  /** A process that has read a hostile file may be its author's by now: no other owner's file goes to it. */
  async #reading<Result>(
    owner: string | undefined,
    work: (reading: ReadingProcess) => Promise<Result>,
  ): Promise<Result> {
    const { program, ingest } = this.#options;
    const idle = this.#idle?.owner === owner ? this.#idle : undefined;
    if (idle !== undefined) this.#idle = undefined;
    clearTimeout(idle?.end);
    const reading = idle?.reading ?? new ReadingProcess({ program, isBackground: true, ...ingest });
    try {
      return await work(reading);
    } finally {
      const end = setTimeout(() => void this.#replaceIdle(undefined), idleMs).unref();
      await this.#replaceIdle({ owner, reading, end });
    }
  }

  async #replaceIdle(next: IdleReader | undefined): Promise<void> {
    const idle = this.#idle;
    this.#idle = next;
    clearTimeout(idle?.end);
    await idle?.reading[Symbol.asyncDispose]();
  }
}
