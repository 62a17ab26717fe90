/** What the page knows of the node: its models, its collection, and whether it is ready. */
import { computed, signal } from "@preact/signals";
import type { ModelInfo, ModelList, NodeInfo, Readiness } from "../../client/wire.ts";
import { api, withKey } from "../client.ts";
import { type Failure, failureOf } from "../failure.ts";

export const info = signal<NodeInfo | undefined>(undefined);
export const modelList = signal<ModelList["data"]>([]);
export const readiness = signal<Readiness | undefined>(undefined);
/** Why the node could not be asked. */
export const nodeFailure = signal<Failure | undefined>(undefined);

const modelsOf = (type: ModelInfo["type"]) =>
  computed(() => (info.value?.models ?? []).filter((model) => model.type === type));

export const chatModels = modelsOf("chat");
export const embeddingModels = modelsOf("embedding");

/** Loads everything again. */
export async function refreshNode(): Promise<void> {
  try {
    const [about, models, ready] = await Promise.all([
      withKey(() => api.info()),
      withKey(() => api.models()),
      api.readiness(),
    ]);
    info.value = about;
    modelList.value = models.data;
    readiness.value = ready;
    nodeFailure.value = undefined;
  } catch (error) {
    readiness.value = undefined;
    nodeFailure.value = failureOf(error);
  }
}

/** What a node that is ready does not have yet. */
export const coming = computed(() =>
  readiness.value?.status === "ready" ? readiness.value.reasons : [],
);

const whilePreparingMs = 2000;

/** Asks until the node is ready and has all, so that a page opened early comes to life by itself. */
export async function awaitNode(): Promise<void> {
  await refreshNode();
  const isComplete = readiness.value?.status === "ready" && coming.value.length === 0;
  if (!isComplete) setTimeout(awaitNode, whilePreparingMs);
}
