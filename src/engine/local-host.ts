/** Loads models into this process: used inside a runner, and by commands that do not serve. */
import { basename } from "node:path";
import type { ModelHost } from "../core/ports/model-host.ts";
import { type BackendOptions, openBackend } from "./backend.ts";
import { checkModelFile } from "./gguf/model-headers.ts";
import { loadModel } from "./load-model.ts";
import { loadReranker } from "./reranker.ts";

export interface LocalHost extends ModelHost {
  /** Sets how many threads all models of this process may use from now on. */
  useThreads(most: number): void;
}

export async function openLocalHost(options: BackendOptions): Promise<LocalHost> {
  const backend = await openBackend(options);
  return {
    version: backend.version,
    threads: backend.threads,
    async loadModel(spec, { progress }) {
      await checkModelFile(spec.path, spec.name);
      return await loadModel(backend, spec, progress);
    },
    async loadReranker(path, { progress }) {
      await checkModelFile(path, basename(path));
      return await loadReranker(backend, path, progress);
    },
    useThreads(most) {
      backend.llama.maxThreads = most;
    },
    [Symbol.asyncDispose]: () => backend[Symbol.asyncDispose](),
  };
}
