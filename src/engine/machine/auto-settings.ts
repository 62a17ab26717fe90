/** Which context, batch and layers on an accelerator suit a model on a machine. */

import type { FittedSettings, WantedSettings } from "../../core/models/model.ts";
import type { Machine } from "./machine.ts";
import {
  describeUse,
  fitsAccelerator,
  fitsMachine,
  memoryUseOf,
  offloadableLayers,
} from "./memory-use.ts";
import { defaultContext, type ModelFacts } from "./model-memory.ts";

export interface AutoSettingsInput {
  facts: ModelFacts;
  machine: Machine;
  /** What is a number stays; what is `auto` is chosen. */
  wanted: Pick<WantedSettings, keyof FittedSettings>;
  /** Answers at the same time; contexts, for a model that reads texts. */
  parallel: number;
}

export interface ChosenSettings extends FittedSettings {
  /** What decided, for a person. */
  why: string;
}

/** Longer ones cost memory and time for each answer, and few conversations are so long. */
const contextSizes = [32_768, 16_384, 8192, 4096, 2048, 1024, 512];
const usualContext = 4096;
const usualBatch = 512;
const batchSizes = [usualBatch, 256, 128];
/** An accelerator that holds a whole model is kept busy by more. */
const acceleratedBatch = 1024;

/**
 * Layers come first, then the batch, both for a context of usual length; what is free then goes to
 * a longer context. Where nothing fits, the smallest sizes are taken.
 */
export function chooseSettings(input: AutoSettingsInput): ChosenSettings {
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

/** From the largest down; what the model was trained on is never exceeded. */
function contextCandidates({ facts, wanted }: AutoSettingsInput): number[] {
  const { trainContext, kind } = facts;
  // 0 means what the model was trained on, at most what is usual for its kind.
  if (wanted.ctxSize === 0) return [defaultContext(trainContext, kind)];
  if (wanted.ctxSize !== "auto") return [wanted.ctxSize];
  const smaller = contextSizes.filter((size) => size < trainContext);
  return smaller.length === contextSizes.length ? smaller : [trainContext, ...smaller];
}

/** As many as the accelerator has room for, with a context and a batch of usual size. */
function chooseLayers({ facts, machine, wanted, parallel }: AutoSettingsInput, ctxSize: number) {
  const all = offloadableLayers(facts);
  if (wanted.nGpuLayers !== "auto") return Math.min(wanted.nGpuLayers, all);
  for (let nGpuLayers = all; nGpuLayers > 0; nGpuLayers--) {
    const use = memoryUseOf(facts, { ctxSize, batchSize: usualBatch, nGpuLayers }, parallel);
    if (fitsAccelerator(use, machine)) return nGpuLayers;
  }
  return 0;
}

/** From the largest down. */
function batchCandidates({ facts, wanted }: AutoSettingsInput, nGpuLayers: number): number[] {
  if (wanted.batchSize !== "auto") return [wanted.batchSize];
  const isWhole = nGpuLayers === offloadableLayers(facts);
  return isWhole ? [acceleratedBatch, ...batchSizes] : batchSizes;
}

/** Of sizes from the largest down; the smallest where none fits. */
const largestFitting = (sizes: readonly number[], fits: (size: number) => boolean): number =>
  sizes.find(fits) ?? smallest(sizes);

const smallest = (sizes: readonly number[]): number => Math.min(...sizes);
