/** The node's state on the page: its models, its collection and its readiness. */
import { computed } from "@preact/signals";
import type { ModelInfo } from "../../client/wire.ts";
import { api, KeyDeclined, key, Loaded, withKey } from "../client.ts";

const node = new Loaded<Awaited<ReturnType<typeof loadNode>>>();

const loadNode = () =>
  Promise.all([withKey(() => api.info()), withKey(() => api.models()), api.readiness()]);

export const info = computed(() => node.value.value?.[0]);
export const modelList = computed(() => node.value.value?.[1].data ?? []);
/** Undefined while the node does not answer. */
export const readiness = computed(() =>
  node.failure.value === undefined ? node.value.value?.[2] : undefined,
);
export const nodeFailure = node.failure;

const modelsOf = (type: ModelInfo["type"]) =>
  computed(() => (info.value?.models ?? []).filter((model) => model.type === type));

export const chatModels = modelsOf("chat");
export const embeddingModels = modelsOf("embedding");

export const refreshNode = (): Promise<void> => node.load(loadNode);

/** Reloads, unless the user has declined to give a key: then only a retry asks. */
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
