/** Loads models into this process: used inside a runner, and by commands that do not serve. */
import { describeBackend } from "../core/models/engine-backends.ts";
import type { ModelHost } from "../core/ports/model-host.ts";
import { type BackendOptions, openBackend } from "./backend.ts";
import { checkModelFile } from "./gguf/model-files.ts";
import { loadModel } from "./load-model.ts";
import type { StepReport } from "./machine/step-watch.ts";

export interface LocalHost extends ModelHost {
  /** Sets how many threads all models of this process may use from now on. */
  useThreads(most: number): void;
  /** What all models of this process compute now. */
  steps(): StepReport;
}

export async function openLocalHost(options: BackendOptions): Promise<LocalHost> {
  const backend = await openBackend(options);
  return {
    version: describeBackend(backend.version, options.rejected ?? []),
    threads: backend.threads,
    async loadModel(spec, { progress, onStage = () => {} }) {
      onStage("file");
      await checkModelFile(spec.path, spec.name);
      onStage("model");
      return await loadModel(backend, spec, progress, onStage);
    },
    steps: () => backend.steps.report(),
    useThreads(most) {
      backend.llama.maxThreads = most;
    },
    [Symbol.asyncDispose]: () => backend[Symbol.asyncDispose](),
  };
}
