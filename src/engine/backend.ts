/** Loads llama.cpp, once in a process, with its budget of threads. */
import { getLlama, getLlamaGpuTypes, type Llama, LlamaLogLevel } from "node-llama-cpp";
import type { Log } from "../core/log.ts";
import { nativeFolder, useGpuLibraries } from "../packaging/native-libraries.ts";
import { threadBudget } from "./machine/thread-budget.ts";
import { unusedGpuReasons } from "./machine/unused-gpus.ts";

export interface BackendOptions {
  /** Threads of all models together; 0: as many as the process has cores. */
  threads: number;
  /** Whether a model wants layers on an accelerator; without, the CPU libraries are loaded. */
  accelerator: boolean;
  /** Folder with GPU libraries, for the executable. */
  gpuLibraries?: string;
  log: Log;
}

export interface Backend extends AsyncDisposable {
  llama: Llama;
  /** The llama.cpp release and build really loaded. */
  version: string;
  threads: number;
  log: Log;
}

export async function openBackend({
  threads,
  accelerator,
  gpuLibraries,
  log,
}: BackendOptions): Promise<Backend> {
  const budget = await threadBudget(threads);
  useGpuLibraries(gpuLibraries);
  // Called for its error: where the executable cannot write its libraries, getLlama would only say that they are missing.
  nativeFolder();
  const llama = await getLlama({
    build: "never",
    gpu: accelerator ? "auto" : false,
    maxThreads: budget.threads,
    logLevel: LlamaLogLevel.warn,
    logger: (level, message) => forward(log, level, message.trim()),
    progressLogs: false,
  });
  const { release, repo } = llama.llamaCppRelease;
  const device = llama.gpu === false ? "cpu" : llama.gpu;
  const version = `llama.cpp ${release} (${repo}, ${llama.buildType} build, ${device})`;
  log.info("llama.cpp is loaded", {
    version,
    threads: budget.threads,
    why: budget.reason,
    ...unusedGpuReasons({
      valid: await getLlamaGpuTypes("allValid"),
      supported: await getLlamaGpuTypes("supported"),
      loaded: llama.gpu,
      accelerator,
    }),
  });
  return {
    llama,
    version,
    threads: budget.threads,
    log,
    [Symbol.asyncDispose]: () => llama.dispose(),
  };
}

function forward(log: Log, level: LlamaLogLevel, message: string): void {
  const fields = { from: "llama.cpp" };
  if (level === LlamaLogLevel.fatal || level === LlamaLogLevel.error) log.error(message, fields);
  // Its warnings are about how a model was made; an operator cannot act on them.
  else log.debug(message, fields);
}
