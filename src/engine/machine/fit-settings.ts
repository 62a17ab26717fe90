/** Chooses the settings that are `auto`, from the model's file and the machine's memory. */
import type { ModelSettings } from "../../core/models/model.ts";
import type { ModelSpec } from "../../core/ports/model-host.ts";
import type { Backend } from "../backend.ts";
import { readModelFacts } from "../gguf/model-facts.ts";
import { chooseSettings } from "./auto-settings.ts";
import { type Machine, withinLimit } from "./machine.ts";
import { readMachineMemory } from "./machine-memory.ts";

interface FittedModel {
  settings: ModelSettings;
  /** Why they were chosen; absent where none was `auto`. */
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
