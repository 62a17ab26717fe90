/** Takes uploaded files in with the node's embedding model, and a reading process that ends when it is idle. */
import type { Config } from "../config/schema.ts";
import type { Chunking } from "../core/documents/records.ts";
import type { TakeIn } from "../core/documents/take-in.ts";
import { NodeError } from "../core/errors.ts";
import type { EmbeddingEngine } from "../core/ports/embedding-engine.ts";
import { bestPassageTokens, overlapTokens } from "../ingest/plan-document.ts";
import { ReadingProcess } from "../ingest/reading-process.ts";
import { takeIn } from "../ingest/take-in.ts";
import type { Program } from "../subprocess/program.ts";

export interface UploadIngestOptions {
  program: Program;
  ingest: Config["ingest"];
}

/** How long it is kept for the next file. */
const idleMs = 30_000;

export class UploadIngest implements AsyncDisposable {
  /** What passages are embedded with; absent until the model is loaded. */
  engine: EmbeddingEngine | undefined;
  readonly #options: UploadIngestOptions;
  readonly #reading: ReadingProcess;
  #idle: Timer | undefined;

  constructor(options: UploadIngestOptions) {
    this.#options = options;
    this.#reading = new ReadingProcess({
      program: options.program,
      isBehind: true,
      ...options.ingest,
    });
  }

  readonly takeIn: TakeIn = async ({ file, content, document, chunking, ...job }) => {
    const { engine } = this;
    if (engine === undefined) {
      throw new NodeError("model_not_ready", "The embedding model is still being prepared.");
    }
    clearTimeout(this.#idle);
    try {
      return await takeIn({
        ...job,
        document,
        engine,
        bytes: new Uint8Array(await content.arrayBuffer()),
        sha256: file.sha256,
        // A smaller model may be configured since.
        chunking: { ...chunking, maxTokens: Math.min(chunking.maxTokens, engine.maxTokens) },
        reading: this.#reading,
        limits: this.#options.ingest,
      });
    } finally {
      this.#idle = setTimeout(() => void this.#reading[Symbol.asyncDispose](), idleMs);
      this.#idle.unref();
    }
  };

  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#idle);
    await this.#reading[Symbol.asyncDispose]();
  }
}

/** As the node cuts where nobody says how. */
export const usualChunking = ({ maxTokens }: { maxTokens: number }): Chunking => ({
  maxTokens: Math.min(maxTokens, bestPassageTokens),
  overlapTokens,
});
