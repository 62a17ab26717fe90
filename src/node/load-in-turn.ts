/** Loads a node's models: chat models beside embedding and reranking models as far as their files go, one at a time into memory. */
import { setTimeout as sleep } from "node:timers/promises";
import type { ModelConfig } from "../config/model-schema.ts";
import type { LoadedModel } from "../core/models/model.ts";
import type { LoadOptions } from "../core/ports/model-host.ts";
import type { NodeModels } from "./node-models.ts";

export interface LoadingListener {
  onLoaded: (model: LoadedModel) => void;
  /** Called once: chat is open, or where there is no chat model, everything is. */
  onOpen: () => void | Promise<void>;
}

/** What a chat model whose file is there needs to be the first that is loaded: people wait for chat. */
const headStartMs = 250;

/**
 * A starter chat model is transcoded for seconds, in which an embedding model is ready to answer.
 * Of each type one after the other: two large models must not be transcoded at the same time.
 */
export async function loadInTurn(
  nodeModels: Pick<NodeModels, "load">,
  models: readonly ModelConfig[],
  loading: LoadOptions,
  { onLoaded, onOpen }: LoadingListener,
): Promise<void> {
  const failed = new AbortController();
  const signal = AbortSignal.any([loading.signal, failed.signal]);
  const loadAll = async (type: ModelConfig["type"]): Promise<void> => {
    try {
      for (const model of models.filter((one) => one.type === type)) {
        signal.throwIfAborted();
        onLoaded(await nodeModels.load(model, { ...loading, signal }));
      }
    } catch (error) {
      // The other one ends too, and what it fails with then is this.
      failed.abort(error);
      throw error;
    }
  };
  const hasChat = models.some(({ type }) => type === "chat");
  const chat = loadAll("chat");
  const headStart = hasChat ? Promise.race([chat, sleep(headStartMs)]) : undefined;
  const embedding = Promise.allSettled([headStart])
    .then(() => loadAll("embedding"))
    .then(() => loadAll("reranker"));
  const open = (hasChat ? chat : embedding).then(onOpen);
  const outcomes = await Promise.allSettled([open, chat, embedding]);
  if (failed.signal.aborted) throw failed.signal.reason;
  for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
}
