/** The node's state on the page: its models, its collection and its readiness. */
import { computed } from "@preact/signals";
import type { ModelInfo } from "../../client/wire.ts";
import { api, KeyDeclined, key, Loaded, withKey } from "../client.ts";

const node = new Loaded<Awaited<ReturnType<typeof loadNode>>>();

/** The list comes first: with it, the node looks whether its models folder has changed. */
async function loadNode() {
  const models = await withKey(() => api.models());
  const [info, ready] = await Promise.all([withKey(() => api.info()), api.readiness()]);
  return [info, models, ready] as const;
}

export const info = computed(() => node.value.value?.[0]);
const listed = computed(() => node.value.value?.[1]);
export const modelList = computed(() => listed.value?.data ?? []);
/** Of the node's machine; undefined for a caller without a key, on a node with keys. */
export const memory = computed(() => listed.value?.memory);
/** Whether the user may load, unload, pull and delete models; undefined until it is known. */
export const mayManage = computed(() => listed.value?.manageable);
/** A pull in progress, of this page or another client. */
export const pulling = computed(() => listed.value?.pulling);
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

const everyMs = 2000;

/** Polls every two seconds while the page is visible; returns a function that stops it. */
export function whileVisible(poll: () => Promise<unknown>): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let ended = false;
  const again = async (): Promise<void> => {
    if (document.visibilityState === "visible") await poll();
    if (!ended) timer = setTimeout(again, everyMs);
  };
  void again();
  return () => {
    ended = true;
    clearTimeout(timer);
  };
}

/** Reloads when the user comes back to the page: a model may have been pulled in a terminal. */
export function reloadOnReturn(): void {
  window.addEventListener("focus", () => void pollNode());
}

/** Polls until the node is ready and complete, so that a page opened early updates by itself. */
export async function followNode(): Promise<void> {
  const isComplete = readiness.value?.status === "ready" && coming.value.length === 0;
  if (!isComplete) await pollNode();
  setTimeout(followNode, everyMs);
}
