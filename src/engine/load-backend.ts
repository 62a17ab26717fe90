/** Loads llama.cpp for the backend that `core/models/engine-backends.ts` chose, once per process; explains why a library cannot load. */
import { dlopen, FFIType } from "bun:ffi";
import { arch, platform } from "node:os";
import { basename } from "node:path";
import { getLlama, type Llama, LlamaLogLevel } from "node-llama-cpp";
import { reasonOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { EngineBackend, RejectedBackend } from "../core/models/engine-backends.ts";
import {
  backendLibraries,
  findPackage,
  packagesOf,
  registerGpuPackages,
} from "../packaging/gpu-packages.ts";
import { nativeFolder, useGpuLibraries } from "../packaging/native-libraries.ts";
import { threadBudget } from "./machine/machine.ts";
import { StepWatch } from "./machine/steps.ts";
import { type CInterface, openInterface } from "./native/c-interface.ts";

export interface BackendOptions {
  /** Threads of all models together; 0: as many as the process has cores. */
  threads: number;
  /** The backend to load; fails if its libraries do not load. */
  backend: EngineBackend;
  rejected?: readonly RejectedBackend[];
  gpuLibraries?: string;
  /** Whether llama.cpp's C interface may be used; default: true. */
  nativeSteps?: boolean;
  /** Whether this process serves nothing but models, so that it may wait for a short step; default: false. */
  servesModelsAlone?: boolean;
  log: Log;
}

export interface Backend extends AsyncDisposable {
  llama: Llama;
  name: EngineBackend;
  version: string;
  threads: number;
  steps: StepWatch;
  /** Undefined: contexts are driven through node-llama-cpp. */
  c: CInterface | undefined;
  /** Goes on without it, and says why in the log and in `version`. */
  declineC(why: string): void;
  servesModelsAlone: boolean;
  log: Log;
}

export async function openBackend(options: BackendOptions): Promise<Backend> {
  const { threads, backend: name, rejected = [], gpuLibraries, log } = options;
  const { nativeSteps = true, servesModelsAlone = false } = options;
  const budget = await threadBudget(threads);
  useGpuLibraries(gpuLibraries);
  registerGpuPackages();
  // Called for its error: getLlama would only report libraries that cannot be unpacked as missing.
  nativeFolder();
  const llama = await getLlama({
    build: "never",
    gpu: libraryOf(name),
    maxThreads: budget.threads,
    logLevel: LlamaLogLevel.warn,
    logger: (level, message) => forward(log, level, message.trim()),
    progressLogs: false,
  }).catch((cause: unknown) => {
    throw new Error(linkerError(name) ?? reasonOf(cause), { cause });
  });
  // In the executable, the library is not tested first, and continues without its accelerator.
  if (name !== "cpu" && llama.gpu !== name) {
    await llama.dispose();
    throw new Error(linkerError(name) ?? "no device of it was found");
  }
  const { c, why } = openC(llama, nativeSteps);
  const { release, repo } = llama.llamaCppRelease;
  const versionWith = (whyNot: string | undefined): string => {
    const without = whyNot === undefined ? "" : `, without its C interface: ${whyNot}`;
    return `llama.cpp ${release} (${repo}, ${llama.buildType} build${without}, ${name})`;
  };
  const version = versionWith(why);
  log.info("llama.cpp is loaded", {
    version,
    threads: budget.threads,
    why: budget.reason,
    ...Object.fromEntries(
      rejected.map(({ backend, reason }) => [`${backend}_not_used`, reason] as const),
    ),
  });
  const opened: Backend = {
    llama,
    name,
    version,
    threads: budget.threads,
    steps: new StepWatch(),
    c,
    declineC(whyNot) {
      opened.c = undefined;
      opened.version = versionWith(whyNot);
      log.warn("llama.cpp's C interface is not used", { reason: whyNot });
    },
    servesModelsAlone,
    log,
    [Symbol.asyncDispose]: () => llama.dispose(),
  };
  return opened;
}

function openC(llama: Llama, isWanted: boolean): { c?: CInterface; why?: string } {
  if (!isWanted) return { why: "native_steps is false" };
  try {
    return { c: openInterface(llama) };
  } catch (error) {
    return { why: reasonOf(error) };
  }
}

/** Apple silicon has one set of libraries; without layers on the GPU, the CPU computes. */
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

/** The linker's error, which node-llama-cpp does not report. Loads the library in this process. */
function linkerError(backend: EngineBackend): string | undefined {
  const [name = ""] = packagesOf(backend, { platform: platform(), arch: arch() });
  const found = findPackage(name);
  const [path] = found === undefined ? [] : backendLibraries(found.bins);
  if (path === undefined) return undefined;
  try {
    dlopen(path, { ggml_backend_init: { returns: FFIType.ptr, args: [] } }).close();
    return undefined;
  } catch (error) {
    return explain(reasonOf(error), path);
  }
}

function explain(words: string, path: string): string {
  const [, missing] = /(lib[\w.+-]+): cannot open shared object file/.exec(words) ?? [];
  if (missing !== undefined && missing !== basename(path)) {
    return `its library needs ${missing}, which is not installed`;
  }
  return words.replaceAll(path, basename(path));
}
