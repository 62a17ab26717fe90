/** Why each GPU type that llama.cpp could use is not used, for the operator. */
import type { LlamaGpuType } from "node-llama-cpp";

export interface GpuSituation {
  /** GPU types that exist for this platform. */
  valid: readonly LlamaGpuType[];
  /** GPU types that this machine has a device and a driver for. */
  supported: readonly LlamaGpuType[];
  loaded: LlamaGpuType;
  /** Whether a model wants layers on a GPU. */
  accelerator: boolean;
}

/** A field for each unused GPU type, such as `cuda_not_used`. */
export function unusedGpuReasons(situation: GpuSituation): Record<string, string> {
  const { valid, supported, loaded, accelerator } = situation;
  const others = valid.filter((type) => type !== false && type !== loaded);
  return Object.fromEntries(
    others.map((type) => {
      const reason = !accelerator
        ? "no model asks for it: n_gpu_layers is 0"
        : loaded !== false
          ? `${loaded} is used`
          : supported.includes(type)
            ? "its libraries are not installed or do not load"
            : "this machine has no device or driver for it";
      return [`${type}_not_used`, reason];
    }),
  );
}
