/** What is known of a model from its file, the memory that it takes, and the model and the sizes that suit a machine. */
import { byteSize } from "../../core/byte-size.ts";
import type {
  ContextSettings,
  FittedSettings,
  WantedSettings,
  WeightFacts,
} from "../../core/models/model.ts";
import { readModelFacts } from "../gguf/model-facts.ts";
import type { Machine } from "./machine.ts";

export interface ModelFacts extends WeightFacts {
  /** All files of the model; the first one names it. */
  files: readonly string[];
  kind: "chat" | "embedding" | "reranker";
  name?: string;
  trainContext: number;
  hasChatTemplate: boolean;
  /** Whether its chat template shows tools to the model. */
  supportsTools: boolean;
  /** Whether its chat template has a place for thoughts. */
  supportsThinking: boolean;
  /** Bytes of a token in the KV cache; 0 without one. Upper bound: a sliding window needs less. */
  cacheBytesPerToken: number;
  /** Numbers that a step holds for each of its tokens and each of the context; 0 with flash attention. */
  attentionScores: number;
  /** All LoRA adapters. */
  adapterBytes: number;
  vocabularySize: number;
}

/** Reads them from a model's file. */
export const readFacts = async (path: string, context?: ContextSettings): Promise<ModelFacts> =>
  await readModelFacts(path, context);

/** The same of a file that has just come; throws if a part of it is missing. */
export const readPulledFacts = async (path: string): Promise<ModelFacts> =>
  await readModelFacts(path, undefined, { isWhole: true });

export const weightsOf = (facts: ModelFacts): WeightFacts => {
  const { architecture, parameters, quantization, bytes, layers, embeddingLength } = facts;
  return { architecture, parameters, quantization, bytes, layers, embeddingLength };
};

interface MemoryDemand {
  contextSize: number;
  /** Answers at the same time; contexts, for an embedding model. */
  parallel: number;
  /** Tokens evaluated at once; default: 512, as the configuration's. */
  batchSize?: number;
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
): Record<"weights" | "cache" | "working" | "total", number> {
  const { kind, cacheBytesPerToken, attentionScores, vocabularySize, embeddingLength } = facts;
  const weights = facts.bytes + facts.adapterBytes;
  const cache = cacheBytesPerToken * contextSize * parallel;
  const row = kind === "chat" ? vocabularySize : 0;
  const batch = Math.min(batchSize, contextSize);
  const contexts = kind === "chat" ? 1 : parallel;
  const numbers = row + embeddingLength * rowsAtWork + attentionScores * contextSize;
  const working = contexts * batch * numbers * floatBytes;
  return { weights, cache, working, total: weights + cache + working };
}

interface MemoryUse {
  memory: number;
  accelerator: number;
}

/** Share of the free memory: other programs, and the rest of this one, need some too. */
const shareOfMemory = 0.8;
export const shareOfAccelerator = 0.9;

/** llama.cpp counts the output as a layer of its own. */
const offloadableLayers = ({ layers }: ModelFacts): number => layers + 1;

function memoryUseOf(
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

const fitsMachine = (use: MemoryUse, machine: Machine): boolean =>
  use.memory <= machine.availableMemory * shareOfMemory && fitsAccelerator(use, machine);

const fitsAccelerator = ({ accelerator: use }: MemoryUse, { accelerator }: Machine) =>
  use <= (accelerator?.availableMemory ?? 0) * shareOfAccelerator;

function describeUse(use: MemoryUse, machine: Machine): string {
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

export interface AutoSettingsInput {
  facts: ModelFacts;
  machine: Machine;
  /** Numbers stay as they are; `auto` is chosen. */
  wanted: Pick<WantedSettings, keyof FittedSettings>;
  parallel: number;
}

/** Longer contexts cost memory and time for each answer, and few conversations need them. */
const contextSizes = [32_768, 16_384, 8192, 4096, 2048, 1024, 512];
const usualBatch = 512;
const batchSizes = [usualBatch, 256, 128];
/** An accelerator that holds a whole model is busy only with more. */
const acceleratedBatches = [2048, 1024];

/** Chooses layers first, then the batch, both for a usual context; the remaining memory goes to a longer context. */
export function chooseSettings(input: AutoSettingsInput): FittedSettings & { why: string } {
  const { facts, machine, parallel } = input;
  const useOf = (settings: FittedSettings) => memoryUseOf(facts, settings, parallel);
  const fits = (settings: FittedSettings): boolean => fitsMachine(useOf(settings), machine);

  const contexts = contextCandidates(input);
  const usual = contexts.find((size) => size <= usualContext.chat) ?? smallest(contexts);
  const nGpuLayers = chooseLayers(input, usual);
  const batchSize = largestFitting(batchCandidates(input, nGpuLayers), (size) =>
    fits({ ctxSize: usual, batchSize: size, nGpuLayers }),
  );
  const ctxSize = largestFitting(contexts, (size) =>
    fits({ ctxSize: size, batchSize, nGpuLayers }),
  );

  const chosen = { ctxSize, batchSize, nGpuLayers };
  return { ...chosen, why: describeUse(useOf(chosen), machine) };
}

/** Largest first; never more than the model was trained on. */
function contextCandidates({ facts, wanted }: AutoSettingsInput): number[] {
  const { trainContext, kind } = facts;
  // 0 means what the model was trained on, at most what is usual for its kind.
  if (wanted.ctxSize === 0) return [defaultContext(trainContext, kind)];
  if (wanted.ctxSize !== "auto") return [wanted.ctxSize];
  const smaller = contextSizes.filter((size) => size < trainContext);
  return smaller.length === contextSizes.length ? smaller : [trainContext, ...smaller];
}

/** As many as fit on the accelerator, with a usual context and batch. */
function chooseLayers({ facts, machine, wanted, parallel }: AutoSettingsInput, ctxSize: number) {
  const all = offloadableLayers(facts);
  if (wanted.nGpuLayers !== "auto") return Math.min(wanted.nGpuLayers, all);
  for (let nGpuLayers = all; nGpuLayers > 0; nGpuLayers--) {
    const use = memoryUseOf(facts, { ctxSize, batchSize: usualBatch, nGpuLayers }, parallel);
    if (fitsAccelerator(use, machine)) return nGpuLayers;
  }
  return 0;
}

function batchCandidates({ facts, wanted }: AutoSettingsInput, nGpuLayers: number): number[] {
  if (wanted.batchSize !== "auto") return [wanted.batchSize];
  const isWhole = nGpuLayers === offloadableLayers(facts);
  return isWhole ? [...acceleratedBatches, ...batchSizes] : batchSizes;
}

/** The first size that fits; the smallest if none does. */
const largestFitting = (sizes: readonly number[], fits: (size: number) => boolean): number =>
  sizes.find(fits) ?? smallest(sizes);

const smallest = (sizes: readonly number[]): number => Math.min(...sizes);

/** Share of the total memory, not of the free: the choice is the same at every start. */
const comfortable = 0.6;

/** The largest chat model that fits comfortably; undefined if there is none. */
export function pickChatModel(
  candidates: readonly ModelFacts[],
  { memory }: Machine,
  parallel: number,
): ModelFacts | undefined {
  const fits = (facts: ModelFacts): boolean => {
    const contextSize = Math.min(facts.trainContext, usualContext.chat);
    return estimateMemory(facts, { contextSize, parallel }).total <= memory * comfortable;
  };
  return candidates
    .filter((facts) => facts.kind === "chat" && facts.hasChatTemplate && fits(facts))
    .sort((a, b) => b.parameters - a.parameters || b.bytes - a.bytes)
    .at(0);
}

export interface PickOptions {
  parallel: number;
  machine: () => Promise<Machine>;
  readFacts: (path: string) => Promise<ModelFacts>;
}

/** The same for files; also returns how many of them are chat models. */
export async function pickChatFile(
  paths: readonly string[],
  { parallel, machine, readFacts }: PickOptions,
): Promise<{ candidates: number; file: string | undefined }> {
  const candidates: ModelFacts[] = [];
  for (const path of paths) {
    // A file that cannot be read is no candidate; 'paddock models' says why.
    const facts = await readFacts(path).catch(() => undefined);
    if (facts?.kind === "chat") candidates.push(facts);
  }
  if (candidates.length === 0) return { candidates: 0, file: undefined };
  const picked = pickChatModel(candidates, await machine(), parallel);
  return { candidates: candidates.length, file: picked?.files[0] };
}
