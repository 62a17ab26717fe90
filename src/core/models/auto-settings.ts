/** Which context, batch and layers on an accelerator suit a model on a machine. */
import { byteSize } from "../byte-size.ts";
import type { Machine } from "./machine.ts";
import type { FittedSettings, WantedSettings } from "./model.ts";
import { defaultContext, estimateMemory, type ModelFacts } from "./model-memory.ts";

export interface AutoSettingsInput {
  facts: ModelFacts;
  machine: Machine;
  /** What is a number stays; what is `auto` is chosen. */
  wanted: Pick<WantedSettings, keyof FittedSettings>;
  /** Answers at the same time; contexts, for an embedding model. */
  parallel: number;
}

export interface ChosenSettings extends FittedSettings {
  /** What decided, for a person. */
  why: string;
}

/** Of what is free: the rest of the program and of the machine live too. */
const shareOfMemory = 0.8;
const shareOfAccelerator = 0.9;

/** More costs memory and time for each answer, and few talk so long. */
const contextSizes = [32_768, 16_384, 8192, 4096, 2048, 1024, 512];
const usualContext = 4096;
const usualBatch = 512;
const batchSizes = [usualBatch, 256, 128];
/** An accelerator that holds a whole model is kept busy by more. */
const acceleratedBatch = 1024;

export function chooseSettings({
  facts,
  machine,
  wanted,
  parallel,
}: AutoSettingsInput): ChosenSettings {
  const allLayers = facts.layers + 1; // llama.cpp counts the output as one
  const demandOf = (ctxSize: number, batchSize: number, nGpuLayers: number): Demand => {
    const demand = { contextSize: ctxSize, parallel, batchSize };
    return divide(estimateMemory(facts, demand), nGpuLayers / allLayers);
  };
  const contexts =
    wanted.ctxSize === "auto" ? contextsOf(facts) : [contextOf(facts, wanted.ctxSize)];
  const modest = contexts.find((size) => size <= usualContext) ?? contexts.at(-1) ?? usualContext;
  const nGpuLayers =
    wanted.nGpuLayers === "auto"
      ? mostLayers(allLayers, machine, (layers) => demandOf(modest, usualBatch, layers))
      : Math.min(wanted.nGpuLayers, allLayers);
  const batches =
    wanted.batchSize !== "auto"
      ? [wanted.batchSize]
      : nGpuLayers === allLayers
        ? [acceleratedBatch, ...batchSizes]
        : batchSizes;
  const fits = (demand: Demand): boolean => isRoomFor(demand, machine);
  const batchSize =
    batches.find((size) => fits(demandOf(modest, size, nGpuLayers))) ?? smallest(batches);
  const ctxSize =
    contexts.find((size) => fits(demandOf(size, batchSize, nGpuLayers))) ?? smallest(contexts);
  const demand = demandOf(ctxSize, batchSize, nGpuLayers);
  return { ctxSize, batchSize, nGpuLayers, why: explain(demand, machine, fits(demand)) };
}

/** What was wished for, with what was chosen for it once: it stays so. */
export function settle(wanted: WantedSettings, chosen: FittedSettings): WantedSettings {
  const { ctxSize, batchSize, nGpuLayers } = wanted;
  return {
    ...wanted,
    ctxSize: ctxSize === "auto" ? chosen.ctxSize : ctxSize,
    batchSize: batchSize === "auto" ? chosen.batchSize : batchSize,
    nGpuLayers: nGpuLayers === "auto" ? chosen.nGpuLayers : nGpuLayers,
  };
}

interface Demand {
  memory: number;
  accelerator: number;
}

/** What of a model's memory is where, if such a share of its layers is on the accelerator. */
function divide(
  { weights, cache, working }: ReturnType<typeof estimateMemory>,
  share: number,
): Demand {
  const moved = Math.min(1, share) * (weights + cache);
  return {
    memory: weights + cache - moved + (share < 1 ? working : 0),
    accelerator: moved + (share > 0 ? working : 0),
  };
}

function isRoomFor({ memory, accelerator }: Demand, machine: Machine): boolean {
  const onIt = (machine.accelerator?.availableMemory ?? 0) * shareOfAccelerator;
  return memory <= machine.availableMemory * shareOfMemory && accelerator <= onIt;
}

function mostLayers(
  all: number,
  { accelerator }: Machine,
  demandOf: (layers: number) => Demand,
): number {
  const room = (accelerator?.availableMemory ?? 0) * shareOfAccelerator;
  for (let layers = all; layers > 0; layers--) {
    if (demandOf(layers).accelerator <= room) return layers;
  }
  return 0;
}

/** From the largest down; what the model was trained on is never exceeded. */
function contextsOf({ trainContext }: ModelFacts): number[] {
  const smaller = contextSizes.filter((size) => size < trainContext);
  return smaller.length === contextSizes.length ? smaller : [trainContext, ...smaller];
}

/** 0 means what the model was trained on, at most the usual. */
const contextOf = ({ trainContext }: ModelFacts, size: number): number =>
  size === 0 ? defaultContext(trainContext) : size;

const smallest = (sizes: readonly number[]): number => Math.min(...sizes);

function explain({ memory, accelerator }: Demand, machine: Machine, isEnough: boolean): string {
  const bound = machine.memoryBound === "control group" ? " (bound by a control group)" : "";
  const parts = [
    `takes about ${byteSize(memory)} of ${byteSize(machine.availableMemory)} free memory${bound}`,
  ];
  if (accelerator > 0) {
    const there = machine.accelerator?.availableMemory ?? 0;
    parts.push(`${byteSize(accelerator)} of ${byteSize(there)} free on the accelerator`);
  }
  if (!isEnough) parts.push("which is too little; take a smaller model");
  return parts.join(", ");
}
