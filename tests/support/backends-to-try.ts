/** Backends that a test says a machine has, and the verdicts that were kept. */
import type {
  Accelerators,
  BackendPlan,
  EngineBackend,
  LastingFailure,
} from "../../src/core/models/engine-backends.ts";

export interface BackendsToTry extends Accelerators {
  kept: { backend: EngineBackend; failure?: LastingFailure }[];
}

export function backendsToTry(...candidates: EngineBackend[]): BackendsToTry {
  const kept: BackendsToTry["kept"] = [];
  const plan: BackendPlan = {
    candidates,
    rejected: [],
    proven: [],
    keep: async (backend, failure) => {
      kept.push({ backend, ...(failure === undefined ? {} : { failure }) });
    },
  };
  return { kept, planFor: async () => plan };
}
