/** Where models run: in this process, or each in one of its own. */
import type { EmbeddingPrefixes } from "../embedding/embedding-prefixes.ts";
import type { LoadStage } from "../models/engine-backends.ts";
import type { LoadedModel, ModelType, WantedSettings } from "../models/model.ts";
import type { Progress } from "../progress.ts";

export interface ModelSpec {
  name: string;
  type: ModelType;
  path: string;
  /** `ctxSize` 0: what the model was trained on, at most 4096, and 1024 of one that reranks. */
  settings: WantedSettings;
  /** Chat answers generated at the same time. */
  parallel: number;
  /** Requests that may wait for one of them. */
  maxQueue: number;
  /** What an embedding model wants before texts; what is absent is taken from what is known of its family. */
  prefixes?: Partial<EmbeddingPrefixes>;
  /** How long it may be idle before it is unloaded until the next request; absent: for ever. */
  keepAliveMs?: number;
  /** Bytes of memory that sizes chosen for it may take at most; absent: what is free. */
  memoryLimit?: number;
}

export interface LoadOptions {
  progress: Progress;
  signal: AbortSignal;
  /** Told where a load has come to. */
  onStage?: (stage: LoadStage) => void;
}

export interface ModelHost extends AsyncDisposable {
  /** The engine and its build; known from the first loaded model on. */
  readonly version: string;
  /** Threads of all models together. */
  readonly threads: number;
  loadModel(spec: ModelSpec, options: LoadOptions): Promise<LoadedModel>;
  /**
   * Loads other weights of a model that it has loaded, once its calls have ended; calls made meanwhile
   * wait. Where that fails the model goes on as before. Absent: a host that cannot unload.
   */
  replaceWeights?(spec: ModelSpec, signal: AbortSignal): Promise<LoadedModel>;
}
