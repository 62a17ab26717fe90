/** The node's state on the page: its models, its collection and its readiness. */
import { computed, signal } from "@preact/signals";
import type { ModelInfo, ModelList, NodeInfo, Readiness } from "../../client/wire.ts";
import { api, KeyDeclined, key, Questions, withKey } from "../client.ts";
import { type Failure, failureOf } from "../failure.ts";

export const info = signal<NodeInfo | undefined>(undefined);
export const modelList = signal<ModelList["data"]>([]);
export const readiness = signal<Readiness | undefined>(undefined);
/** Why the last request for the state failed. */
export const nodeFailure = signal<Failure | undefined>(undefined);

const modelsOf = (type: ModelInfo["type"]) =>
  computed(() => (info.value?.models ?? []).filter((model) => model.type === type));

export const chatModels = modelsOf("chat");
export const embeddingModels = modelsOf("embedding");

const questions = new Questions();

/** Reloads everything. */
export const refreshNode = (): Promise<void> =>
  questions.ask(
    () => Promise.all([withKey(() => api.info()), withKey(() => api.models()), api.readiness()]),
    ([about, models, ready]) => {
      info.value = about;
      modelList.value = models.data;
      readiness.value = ready;
      nodeFailure.value = undefined;
    },
    (error) => {
      readiness.value = undefined;
      nodeFailure.value = failureOf(error);
    },
  );

/** Reloads everything, unless the user has declined to give a key: then only a retry asks. */
export async function pollNode(): Promise<void> {
  const failure = nodeFailure.value;
  const isDeclined = failure instanceof KeyDeclined && failure.key === key.value;
  if (!isDeclined) await refreshNode();
}

/** What is still being prepared on a node that is ready. */
export const coming = computed(() =>
  readiness.value?.status === "ready" ? readiness.value.reasons : [],
);

const whilePreparingMs = 2000;

/** Polls until the node is ready and complete, so that a page opened early updates by itself. */
export async function followNode(): Promise<void> {
  const isComplete = readiness.value?.status === "ready" && coming.value.length === 0;
  if (!isComplete) await pollNode();
  setTimeout(followNode, whilePreparingMs);
}
