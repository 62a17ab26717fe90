/** Chooses what a model's settings leave to the node, from its file and from the machine. */
import { chooseSettings } from "../../core/models/auto-settings.ts";
import { type Machine, withinLimit } from "../../core/models/machine.ts";
import type { ModelSettings } from "../../core/models/model.ts";
import type { ModelSpec } from "../../core/ports/model-host.ts";
import type { Backend } from "../backend.ts";
import { readModelFacts } from "../gguf/model-facts.ts";
import { readMachineMemory } from "./machine-memory.ts";

interface FittedModel {
  settings: ModelSettings;
  /** What decided; absent where nothing was to be chosen. */
  why?: string;
}

export async function fitSettings(backend: Backend, spec: ModelSpec): Promise<FittedModel> {
  const { settings: wanted, path, type, parallel } = spec;
  const { ctxSize, batchSize } = wanted;
  // Whatever was asked for, the CPU has no layers elsewhere.
  const nGpuLayers = backend.name === "cpu" ? 0 : wanted.nGpuLayers;
  if (ctxSize !== "auto" && batchSize !== "auto" && nGpuLayers !== "auto") {
    return { settings: { ...wanted, ctxSize, batchSize, nGpuLayers } };
  }
  const { why, ...chosen } = chooseSettings({
    facts: await readModelFacts(path),
    machine: withinLimit(await machineOf(backend), spec.memoryLimit),
    wanted: { ctxSize, batchSize, nGpuLayers },
    parallel: type === "chat" ? parallel : backend.threads,
  });
  return { settings: { ...wanted, ...chosen }, why };
}

async function machineOf({ llama, name }: Backend): Promise<Machine> {
  const machine = await readMachineMemory();
  if (name === "cpu") return machine;
  const { total, free } = await llama.getVramState();
  return { ...machine, accelerator: { memory: total, availableMemory: free } };
}
