/** The collections that the user can see, which the API calls vector stores. */
import { computed, effect, signal, untracked } from "@preact/signals";
import { ApiError } from "../../client/api-error.ts";
import { DocumentsClient } from "../../client/documents-client.ts";
import type { Point, VectorStore } from "../../client/wire.ts";
import { api, key, Questions, withKey } from "../client.ts";
import { type Failure, failureOf } from "../failure.ts";
import { coming, info, readiness } from "../node/state.ts";

export const documents = new DocumentsClient(api);

export type Access =
  | { state: "unknown" }
  | { state: "open" }
  /** The key has no access to documents; `reason` is the node's message. */
  | { state: "refused"; reason: string }
  | { state: "failed"; failure: Failure };

export const access = signal<Access>({ state: "unknown" });
const known = signal<readonly VectorStore[]>([]);
export const hasMoreCollections = signal(false);
export const areAllKnown = computed(
  () => access.value.state === "open" && !hasMoreCollections.value,
);
export const maxFileBytes = signal<number | undefined>(undefined);

/** Whether it is the node's own collection, which answers come from by default. */
export const isNodes = ({ collection }: VectorStore): boolean =>
  collection === info.value?.vectorstore_config.collection_name;

/** The node's own first, then the newest. */
export const collections = computed(() => [
  ...known.value.filter(isNodes),
  ...known.value.filter((store) => !isNodes(store)),
]);

/** Whether there are passages in the node's collection, or in those that the key is bound to; or may soon be, since a new node is still storing its handbook. */
export const holdsPassages = computed(() => {
  const nodes = known.value.filter(isNodes);
  const searched = nodes.length > 0 ? nodes : known.value;
  return searched.some(
    ({ file_counts: { completed, in_progress } }) =>
      completed + in_progress + coming.value.length > 0,
  );
});

export const nameOf = ({ name, id }: Pick<VectorStore, "name" | "id">): string => name || id;

const shownId = signal<string | undefined>(undefined);

export const shown = computed(
  () => collections.value.find(({ id }) => id === shownId.value) ?? collections.value[0],
);

export function showCollection(id: string): void {
  shownId.value = id;
}

const pageSize = 100;
/** Number of pages of collections to load. */
let wantedPages = 1;
const questions = new Questions();
const first = Promise.withResolvers<void>();
/** Settles with the first answer about the collections, or its failure. */
export const firstCollections = first.promise;

/** `asks`: whether to ask the user for a key if the node requires one. */
export function loadCollections({ asks }: { asks: boolean }): Promise<void> {
  const load = () => Promise.all([loadPages(), maxFileBytes.value ?? documents.maxFileBytes()]);
  const loaded = questions.ask(
    () => (asks ? withKey(load) : load()),
    ([{ stores, hasMore }, bytes]) => {
      known.value = stores;
      hasMoreCollections.value = hasMore;
      maxFileBytes.value = bytes;
      access.value = { state: "open" };
    },
    (error) => {
      access.value = accessAfter(error);
    },
  );
  return loaded.finally(first.resolve);
}

/** Reloads all pages, since any may contain collections that are being filled. */
async function loadPages(): Promise<{ stores: VectorStore[]; hasMore: boolean }> {
  const stores: VectorStore[] = [];
  for (let at = 1; ; at++) {
    const page = await documents.stores({ limit: pageSize, after: stores.at(-1)?.id });
    stores.push(...page.data);
    if (!page.has_more || at >= wantedPages) return { stores, hasMore: page.has_more };
  }
}

export function loadMoreCollections(): Promise<void> {
  wantedPages++;
  return loadCollections({ asks: true });
}

export function forgetCollection(id: string): void {
  known.value = known.value.filter((one) => one.id !== id);
}

function accessAfter(error: unknown): Access {
  if (error instanceof ApiError && error.status === 403 && error.code === missingScope) {
    return { state: "refused", reason: error.message };
  }
  if (error instanceof ApiError && error.status === 401) return { state: "unknown" };
  return { state: "failed", failure: failureOf(error) };
}

const missingScope = "insufficient_permissions";

/** The node's readiness: more collections may be available once it is complete. */
const stage = computed(() => readiness.value && [readiness.value.status, ...coming.value].join());

/** Loads collections when the page opens, the node gets ready or the key changes; never asks. */
export function keepCollections(): void {
  let before = key.peek();
  effect(() => {
    const isOther = key.value !== before;
    before = key.value;
    if (stage.value === undefined && !isOther) return;
    untracked(() => {
      if (isOther) forgetAll();
      void loadCollections({ asks: false });
    });
  });
}

function forgetAll(): void {
  access.value = { state: "unknown" };
  known.value = [];
  wantedPages = 1;
}

/** Unique names in the order of the passages. Stored passages may lack the collection. */
export function collectionsOf(points: readonly Point[]): string[] {
  const ids = points.map(({ metadata }) => metadata?.vector_store_id ?? undefined);
  return [...new Set(ids.filter((id) => id !== undefined))].map(collectionName);
}

function collectionName(id: string): string {
  const store = collections.value.find((one) => one.id === id);
  if (store !== undefined) return nameOf(store);
  return areAllKnown.value ? `${id} (not there any more)` : id;
}
