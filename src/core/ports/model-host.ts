/** Port: runs models, in this process or each in its own. */
import type { EmbeddingPrefixes } from "../embedding/embedding-prefixes.ts";
import type { LoadStage } from "../models/engine-backends.ts";
import type { LoadedModel, ModelType, WantedSettings } from "../models/model.ts";
import type { Progress } from "../progress.ts";

export interface ModelSpec {
  name: string;
  type: ModelType;
  path: string;
  /** `ctxSize` 0: the size the model was trained on, at most 4096, or 1024 for a reranker. */
  settings: WantedSettings;
  parallel: number;
  maxQueue: number;
  /** Prefixes of an embedding model; default: those of its family. */
  prefixes?: Partial<EmbeddingPrefixes>;
  /** How long it may be idle before it is unloaded until the next request; absent: never unloaded. */
  keepAliveMs?: number;
  /** Most memory that automatic sizes may use, in bytes; absent: what is free. */
  memoryLimit?: number;
}

export interface LoadOptions {
  progress: Progress;
  signal: AbortSignal;
  onStage?: (stage: LoadStage) => void;
}

export interface ModelHost extends AsyncDisposable {
  /** The engine and its build; known from the first loaded model on. */
  readonly version: string;
  readonly threads: number;
  loadModel(spec: ModelSpec, options: LoadOptions): Promise<LoadedModel>;
  /** Once its calls have ended; later ones wait. If it fails, the model goes on as before. Absent if the host cannot unload. */
  replaceWeights?(spec: ModelSpec, signal: AbortSignal): Promise<LoadedModel>;
}
