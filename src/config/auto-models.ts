/** A model that is chosen for the machine has its sizes chosen too, unless they are given. */

const fitted = ["n_gpu_layers", "ctx_size", "batch_size"] as const;

export function fitAutoModels(models: unknown): unknown {
  if (!Array.isArray(models)) return models; // the schema reports it
  return models.map((model: unknown) => (isAuto(model) ? { ...auto, ...model } : model));
}

const auto = Object.fromEntries(fitted.map((key) => [key, "auto"]));

const isAuto = (model: unknown): model is { source: "auto" } =>
  typeof model === "object" && model !== null && "source" in model && model.source === "auto";
