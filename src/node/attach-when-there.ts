/** A collection waits for its embedding model, where that runs elsewhere and cannot be asked yet. */
import { NodeError, reasonOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { RetrievalService } from "../core/retrieval/retrieval-service.ts";

export interface AttachOptions {
  /** Name of the embedding model. */
  model: string;
  /** Settles when the model is there, or never will be; undefined: it is. */
  awaited: Promise<void> | undefined;
  attach: () => Promise<void>;
  retrieval: Pick<RetrievalService, "unavailable">;
  signal: AbortSignal;
  log: Log;
}

/** Attaches now, or says why not and attaches later: the node serves meanwhile. */
export async function attachWhenThere(options: AttachOptions): Promise<void> {
  const { model, awaited, attach, retrieval, signal, log } = options;
  if (awaited === undefined) return await attach();
  const reason = `The collection waits for its embedding model '${model}', which is not ready.`;
  retrieval.unavailable(new NodeError("unavailable", reason));
  void awaited
    .then(async () => {
      if (!signal.aborted) await attach();
    })
    .catch((error: unknown) => {
      if (signal.aborted) return;
      log.error("the collection cannot be opened", { reason: reasonOf(error) });
      retrieval.unavailable(
        error instanceof NodeError
          ? error
          : new NodeError("unavailable", `The collection cannot be opened: ${reasonOf(error)}`),
      );
    });
}
