/** What suits a machine: a model's context, batch and layers on an accelerator, and the model itself where none is named. */
import type { FittedSettings, WantedSettings } from "../../core/models/model.ts";
import type { Machine } from "./machine.ts";
import {
  defaultContext,
  describeUse,
  estimateMemory,
  fitsAccelerator,
  fitsMachine,
  type ModelFacts,
  memoryUseOf,
  offloadableLayers,
} from "./model-memory.ts";

export interface AutoSettingsInput {
  facts: ModelFacts;
  machine: Machine;
  /** Numbers stay as they are; `auto` is chosen. */
  wanted: Pick<WantedSettings, keyof FittedSettings>;
  /** Answers at the same time; contexts, for a model that reads texts. */
  parallel: number;
}

/** Longer contexts cost memory and time for each answer, and few conversations need them. */
const contextSizes = [32_768, 16_384, 8192, 4096, 2048, 1024, 512];
const usualContext = 4096;
const usualBatch = 512;
const batchSizes = [usualBatch, 256, 128];
/** An accelerator that holds a whole model is busy only with more. */
const acceleratedBatch = 1024;

/** Chooses layers first, then the batch, both for a usual context; the remaining memory goes to a longer context. */
export function chooseSettings(input: AutoSettingsInput): FittedSettings & { why: string } {
  const { facts, machine, parallel } = input;
  const useOf = (settings: FittedSettings) => memoryUseOf(facts, settings, parallel);
  const fits = (settings: FittedSettings): boolean => fitsMachine(useOf(settings), machine);

  const contexts = contextCandidates(input);
  const usual = contexts.find((size) => size <= usualContext) ?? smallest(contexts);
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
  return isWhole ? [acceleratedBatch, ...batchSizes] : batchSizes;
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
    const contextSize = Math.min(facts.trainContext, usualContext);
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
