/** What operations on models share, for every API that has them. */
import { pause } from "../../core/abort.ts";
import { NodeError } from "../../core/errors.ts";
import type { LoadedModel } from "../../core/models/model.ts";
import type { ModelLibrary, Pulling, PullOptions } from "../../core/models/model-library.ts";
import type { ModelRegistry } from "../../core/models/model-registry.ts";

export interface ModelNeeds {
  models: ModelRegistry;
  library: ModelLibrary;
}

/** Throws for a model that cannot be unloaded. */
export async function unload({ card, unload }: LoadedModel, signal: AbortSignal): Promise<void> {
  if (unload !== undefined) return await unload(signal);
  const where = card.upstream === undefined ? "in the node's own process" : "on another server";
  const why = `The model '${card.name}' runs ${where}, so it cannot be unloaded.`;
  throw new NodeError("invalid_request", why, { param: "model" });
}

/** How often progress is told. */
const everyMs = 200;

/** Follows a pull of a model, to tell its progress. */
export function followPull(library: ModelLibrary, source: string, options: PullOptions) {
  let state: Readonly<Pulling> | undefined;
  const onBegin = (begun: Readonly<Pulling>): void => {
    state = begun;
  };
  const model = library.pull(source, { ...options, onBegin });
  const over = new AbortController();
  void model.catch(() => {}).finally(() => over.abort());
  return {
    /** The pulled model's name; see `ModelLibrary.pull`. */
    model,
    /** What changed, until the pull ends. */
    async *progress(): AsyncGenerator<Pulling> {
      let told = "";
      while (!over.signal.aborted) {
        const now = JSON.stringify(state);
        if (state !== undefined && now !== told) {
          told = now;
          yield { ...state };
        }
        await pause(everyMs, over.signal);
      }
    },
  };
}
