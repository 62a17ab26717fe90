/** Follows a pull of a model, for every API that reports its progress. */
import { pause } from "../../core/abort.ts";
import type { ModelLibrary, Pulling, PullOptions } from "../../core/models/model-library.ts";

/** How often progress is told. */
const everyMs = 200;

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
