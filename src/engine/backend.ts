/** Loads llama.cpp, once in a process, with its budget of threads. */
import { arch, platform } from "node:os";
import { getLlama, type Llama, LlamaLogLevel } from "node-llama-cpp";
import { reasonOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { EngineBackend, RejectedBackend } from "../core/models/engine-backends.ts";
import { registerGpuPackages } from "../packaging/llama-packages.ts";
import { nativeFolder, useGpuLibraries } from "../packaging/native-libraries.ts";
import { linkerWords } from "./accelerator/linker-words.ts";
import { StepWatch } from "./machine/step-watch.ts";
import { threadBudget } from "./machine/thread-budget.ts";

export interface BackendOptions {
  /** Threads of all models together; 0: as many as the process has cores. */
  threads: number;
  /** Whose libraries are loaded; it fails where they do not load. */
  backend: EngineBackend;
  /** What would be better, for the log. */
  rejected?: readonly RejectedBackend[];
  /** Folder with GPU libraries that the configuration names. */
  gpuLibraries?: string;
  log: Log;
}

export interface Backend extends AsyncDisposable {
  llama: Llama;
  name: EngineBackend;
  /** The llama.cpp release and build really loaded. */
  version: string;
  threads: number;
  /** What its models compute. */
  steps: StepWatch;
  log: Log;
}

export async function openBackend({
  threads,
  backend: name,
  rejected = [],
  gpuLibraries,
  log,
}: BackendOptions): Promise<Backend> {
  const budget = await threadBudget(threads);
  useGpuLibraries(gpuLibraries);
  registerGpuPackages();
  // Called for its error: where the executable cannot write its libraries, getLlama would only say that they are missing.
  nativeFolder();
  const llama = await getLlama({
    build: "never",
    gpu: libraryOf(name),
    maxThreads: budget.threads,
    logLevel: LlamaLogLevel.warn,
    logger: (level, message) => forward(log, level, message.trim()),
    progressLogs: false,
  }).catch((cause: unknown) => {
    throw new Error(linkerWords(name) ?? reasonOf(cause), { cause });
  });
  // In the executable the library does not try itself beforehand, and goes on without its accelerator.
  if (name !== "cpu" && llama.gpu !== name) {
    await llama.dispose();
    throw new Error(linkerWords(name) ?? "no device of it was found");
  }
  const { release, repo } = llama.llamaCppRelease;
  const version = `llama.cpp ${release} (${repo}, ${llama.buildType} build, ${name})`;
  log.info("llama.cpp is loaded", {
    version,
    threads: budget.threads,
    why: budget.reason,
    ...Object.fromEntries(
      rejected.map(({ backend, reason }) => [`${backend}_not_used`, reason] as const),
    ),
  });
  return {
    llama,
    name,
    version,
    threads: budget.threads,
    steps: new StepWatch(),
    log,
    [Symbol.asyncDispose]: () => llama.dispose(),
  };
}

/** Apple silicon has one set of libraries for both; without layers on the GPU it is the CPU that computes. */
function libraryOf(backend: EngineBackend): "cuda" | "vulkan" | "metal" | false {
  if (backend !== "cpu") return backend;
  return platform() === "darwin" && arch() === "arm64" ? "metal" : false;
}

function forward(log: Log, level: LlamaLogLevel, message: string): void {
  const fields = { from: "llama.cpp" };
  if (level === LlamaLogLevel.fatal || level === LlamaLogLevel.error) log.error(message, fields);
  // Its warnings are about how a model was made; an operator cannot act on them.
  else log.debug(message, fields);
}
