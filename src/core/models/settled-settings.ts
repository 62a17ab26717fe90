/** Settings that were left to the node, once they are chosen. */
import type { FittedSettings, WantedSettings } from "./model.ts";

/** The wanted settings, with what was chosen once in the place of `auto`: it stays so. */
export function settledSettings(wanted: WantedSettings, chosen: FittedSettings): WantedSettings {
  const { ctxSize, batchSize, nGpuLayers } = wanted;
  return {
    ...wanted,
    ctxSize: ctxSize === "auto" ? chosen.ctxSize : ctxSize,
    batchSize: batchSize === "auto" ? chosen.batchSize : batchSize,
    nGpuLayers: nGpuLayers === "auto" ? chosen.nGpuLayers : nGpuLayers,
  };
}
