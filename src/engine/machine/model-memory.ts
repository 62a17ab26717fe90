/** What is known of a model from its file, the memory that it takes, and whether the machine has it. */
import { byteSize } from "../../core/byte-size.ts";
import type { FittedSettings } from "../../core/models/model.ts";
import type { Machine } from "./machine.ts";

export interface ModelFacts {
  /** All files of the model; the first one names it. */
  files: readonly string[];
  kind: "chat" | "embedding" | "reranker";
  architecture: string;
  name?: string;
  parameters: number;
  /** `Q4_K_M`, `F16` and so on. */
  quantization: string;
  trainContext: number;
  bytes: number;
  layers: number;
  hasChatTemplate: boolean;
  /** Whether its chat template shows tools to the model. */
  supportsTools: boolean;
  /** Bytes of a token in the KV cache; 0 without one. Upper bound: a sliding window needs less. */
  cacheBytesPerToken: number;
  embeddingLength: number;
  vocabularySize: number;
}

/** Reads them from a model's file. Imports the library lazily: a node with upstream models only does not need it. */
export const readFacts = async (path: string): Promise<ModelFacts> =>
  await (await import("../gguf/model-facts.ts")).readModelFacts(path);

interface MemoryDemand {
  contextSize: number;
  /** Answers at the same time; contexts, for an embedding model. */
  parallel: number;
  /** Tokens evaluated at once; default: 512, as the configuration's. */
  batchSize?: number;
}

interface MemoryEstimate {
  weights: number;
  cache: number;
  /** Buffers that a step is computed in. */
  working: number;
  total: number;
}

/** The default context of a model: a longer one costs memory that few need. */
export const defaultContext = (trained: number, kind: ModelFacts["kind"]): number =>
  Math.min(trained, usualContext[kind]);

/** A reranking model reads longer texts in parts. */
const usualContext = { chat: 4096, embedding: 4096, reranker: 1024 } as const;

/** Rows of the model's width that a step needs for each token of its batch. */
const rowsAtWork = 16;
const floatBytes = 4;

export function estimateMemory(
  facts: ModelFacts,
  { contextSize, parallel, batchSize = 512 }: MemoryDemand,
): MemoryEstimate {
  const { bytes, kind, cacheBytesPerToken, vocabularySize, embeddingLength } = facts;
  const cache = cacheBytesPerToken * contextSize * parallel;
  const row = kind === "chat" ? vocabularySize : 0;
  const batch = Math.min(batchSize, contextSize);
  const contexts = kind === "chat" ? 1 : parallel;
  const working = contexts * batch * (row + embeddingLength * rowsAtWork) * floatBytes;
  return { weights: bytes, cache, working, total: bytes + cache + working };
}

interface MemoryUse {
  memory: number;
  accelerator: number;
}

/** Share of the free memory: other programs, and the rest of this one, need some too. */
const shareOfMemory = 0.8;
const shareOfAccelerator = 0.9;

/** llama.cpp counts the output as a layer of its own. */
export const offloadableLayers = ({ layers }: ModelFacts): number => layers + 1;

/** `parallel`: answers at the same time, or contexts of an embedding model. */
export function memoryUseOf(
  facts: ModelFacts,
  { ctxSize: contextSize, batchSize, nGpuLayers }: FittedSettings,
  parallel: number,
): MemoryUse {
  const { weights, cache, working } = estimateMemory(facts, { contextSize, parallel, batchSize });
  const share = Math.min(1, nGpuLayers / offloadableLayers(facts));
  const offloaded = share * (weights + cache);
  // Each side that has layers needs working memory.
  return {
    memory: weights + cache - offloaded + (share < 1 ? working : 0),
    accelerator: offloaded + (share > 0 ? working : 0),
  };
}

export const fitsMachine = (use: MemoryUse, machine: Machine): boolean =>
  use.memory <= machine.availableMemory * shareOfMemory && fitsAccelerator(use, machine);

export const fitsAccelerator = ({ accelerator: use }: MemoryUse, { accelerator }: Machine) =>
  use <= (accelerator?.availableMemory ?? 0) * shareOfAccelerator;

export function describeUse(use: MemoryUse, machine: Machine): string {
  const bound = machine.memoryBound === "control group" ? " (bound by a control group)" : "";
  const parts = [
    `takes about ${byteSize(use.memory)} of ${byteSize(machine.availableMemory)} free memory${bound}`,
  ];
  if (use.accelerator > 0) {
    const free = machine.accelerator?.availableMemory ?? 0;
    parts.push(`${byteSize(use.accelerator)} of ${byteSize(free)} free on the accelerator`);
  }
  if (!fitsMachine(use, machine)) parts.push("which is too little; take a smaller model");
  return parts.join(", ");
}
