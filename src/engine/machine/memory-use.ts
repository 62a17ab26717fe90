/** Where a model's memory is taken, the machine's or its accelerator's, and whether it is there. */
import { byteSize } from "../../core/byte-size.ts";
import type { FittedSettings } from "../../core/models/model.ts";
import type { Machine } from "./machine.ts";
import { estimateMemory, type ModelFacts } from "./model-memory.ts";

/** Bytes. */
export interface MemoryUse {
  memory: number;
  accelerator: number;
}

/** Of what is free: other programs, and the rest of this one, need some too. */
const shareOfMemory = 0.8;
const shareOfAccelerator = 0.9;

/** llama.cpp counts the output as a layer of its own. */
export const offloadableLayers = ({ layers }: ModelFacts): number => layers + 1;

/** What a model takes with these settings; `parallel`: answers at the same time, or contexts of an embedding model. */
export function memoryUseOf(
  facts: ModelFacts,
  { ctxSize: contextSize, batchSize, nGpuLayers }: FittedSettings,
  parallel: number,
): MemoryUse {
  const { weights, cache, working } = estimateMemory(facts, { contextSize, parallel, batchSize });
  const share = Math.min(1, nGpuLayers / offloadableLayers(facts));
  const offloaded = share * (weights + cache);
  // Either side needs room to calculate in where it has layers.
  return {
    memory: weights + cache - offloaded + (share < 1 ? working : 0),
    accelerator: offloaded + (share > 0 ? working : 0),
  };
}

export const fitsMachine = (use: MemoryUse, machine: Machine): boolean =>
  use.memory <= machine.availableMemory * shareOfMemory && fitsAccelerator(use, machine);

export const fitsAccelerator = ({ accelerator: use }: MemoryUse, { accelerator }: Machine) =>
  use <= (accelerator?.availableMemory ?? 0) * shareOfAccelerator;

/** As a person reads it: what is taken of what is free, and whether that is enough. */
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
