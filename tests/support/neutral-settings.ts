/** Settings of a model that change nothing of what it says. */
import type { ModelSettings } from "../../src/core/models/model.ts";

export const neutralSettings: ModelSettings = {
  promptTemplate: "auto",
  nPredict: -1,
  nGpuLayers: 0,
  ctxSize: 256,
  batchSize: 32,
  temperature: 1,
  topP: 1,
  repeatPenalty: 1,
  repeatLastN: -1,
  dryMultiplier: 0,
  dryBase: 1.75,
  dryAllowedLength: 2,
  presencePenalty: 0,
  frequencyPenalty: 0,
  minP: 0,
};
