/** What the page says of a model and of the machine's memory. */
import type { Model, ModelList } from "../../client/wire.ts";
import { byteSize } from "../../core/byte-size.ts";

export const kinds = {
  chat: "Chat model",
  embedding: "Embedding model",
  reranker: "Reranking model",
} as const;

/** The class of a row, and the word for its reader. */
export function stateOf({ loaded, loading, error }: Model): {
  kind: "loaded" | "loading" | "failed" | "unloaded";
  word: string;
} {
  if (loaded) return { kind: "loaded", word: "In memory" };
  if (loading === true) return { kind: "loading", word: "Being loaded" };
  if (error !== undefined) return { kind: "failed", word: "Could not be loaded" };
  return { kind: "unloaded", word: "Not in memory" };
}

const counts = new Intl.NumberFormat("en");
const times = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });

export function factsOf(model: Model): string[] {
  const { type, size, quantization, parameters, capabilities } = model;
  const known = [
    kinds[type],
    size !== undefined && byteSize(size),
    quantization,
    parameters !== undefined && `${short(parameters)} parameters`,
    `${counts.format(model.context_length)} tokens of context`,
    // The kind says so already.
    ...capabilities.filter((what) => what !== "embedding"),
  ];
  return known.filter((fact) => typeof fact === "string");
}

/** `1.1 B`, as the names of models count. */
function short(parameters: number): string {
  const billions = parameters / 1e9;
  return billions >= 1 ? `${billions.toFixed(1)} B` : `${Math.ceil(parameters / 1e6)} M`;
}

export function memoryNote({ memory_bytes, unloads_at }: Model): string | undefined {
  if (memory_bytes === undefined) return undefined;
  const until =
    unloads_at === undefined ? "" : `, until ${times.format(unloads_at * 1000)} unless it is used`;
  return `Uses ${byteSize(memory_bytes)} of memory${until}`;
}

/** What happens to a question for a model that is not in memory; undefined if nothing does. */
export function waitingNote(model: Model | undefined): string | undefined {
  if (model === undefined || model.loaded) return undefined;
  const { loading, error, size } = model;
  if (loading === true) return "It is being loaded. Your question waits for it.";
  if (error !== undefined) {
    return `It could not be loaded: ${error} Your next question tries again.`;
  }
  const bytes = size === undefined ? "" : ` (${byteSize(size)})`;
  return `It is not in memory. Your next question loads it${bytes} before the answer begins; if memory is short, the model unused for longest is unloaded.`;
}

type Memory = NonNullable<ModelList["memory"]>;

/** Who has the machine's memory, in bytes that add up to its total. */
export function memoryParts(
  { total, free }: Memory,
  models: readonly Model[],
): Record<"models" | "others" | "free", number> {
  // Weights that are mapped from a file count as used by the model, and as free.
  const used = models.reduce((sum, { memory_bytes = 0 }) => sum + memory_bytes, 0);
  const own = Math.min(used, total);
  const others = Math.max(0, total - free - own);
  return { models: own, others, free: total - own - others };
}
