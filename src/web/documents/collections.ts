/** The collections that the user can see, which the API calls vector stores. */
import { computed, effect, signal, untracked } from "@preact/signals";
import { ApiError } from "../../client/api-error.ts";
import type { Point, VectorStore } from "../../client/wire.ts";
import { api, key, Loaded, withKey } from "../client.ts";
import { coming, info, readiness } from "../node/state.ts";

interface Collections {
  stores: readonly VectorStore[];
  hasMore: boolean;
  maxFileBytes?: number | undefined;
  /** Why the key has no access to documents, in the node's words. */
  refusal?: string;
}

/** Undefined until they are known, and after a key was refused. */
const loaded = new Loaded<Collections | undefined>();
const known = computed(() => loaded.value.value?.stores ?? []);
export const collectionsFailure = loaded.failure;
export const refusal = computed(() => loaded.value.value?.refusal);
/** Whether the user can see collections. */
export const isOpen = computed(
  () => loaded.value.value !== undefined && !loaded.failure.value && !refusal.value,
);
export const hasMoreCollections = computed(() => loaded.value.value?.hasMore === true);
export const areAllKnown = computed(() => isOpen.value && !hasMoreCollections.value);
export const maxFileBytes = computed(() => loaded.value.value?.maxFileBytes);

/** Whether it is the node's own collection, which answers come from by default. */
export const isNodes = ({ collection }: VectorStore): boolean =>
  collection === info.value?.vectorstore_config.collection_name;

/** The node's own first, then the newest. */
export const collections = computed(() => [
  ...known.value.filter(isNodes),
  ...known.value.filter((store) => !isNodes(store)),
]);

/** Whether the collections that are searched hold passages, or may soon: see `coming`. */
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
const first = Promise.withResolvers<void>();
const longestWaitMs = 3000;
/** Settles with the first answer about the collections, its failure, or after a few seconds. */
export const firstCollections = first.promise;

/** `asks`: whether to ask the user for a key if the node requires one. */
export function loadCollections({ asks }: { asks: boolean }): Promise<void> {
  setTimeout(first.resolve, longestWaitMs);
  return loaded
    .load(() => (asks ? withKey(askForAll) : askForAll()).catch(refused))
    .finally(first.resolve);
}

async function askForAll(): Promise<Collections> {
  const bytes = maxFileBytes.value ?? api.maxFileBytes();
  const [pages, most] = await Promise.all([askForPages(), bytes]);
  return { ...pages, maxFileBytes: most };
}

/** All pages, since any may contain collections that are being filled. */
async function askForPages(): Promise<Collections> {
  const stores: VectorStore[] = [];
  for (let at = 1; ; at++) {
    const page = await api.stores({ limit: pageSize, after: stores.at(-1)?.id });
    stores.push(...page.data);
    if (!page.has_more || at >= wantedPages) return { stores, hasMore: page.has_more };
  }
}

function refused(error: unknown): Collections | undefined {
  if (error instanceof ApiError && error.status === 401) return undefined;
  if (!(error instanceof ApiError && error.code === "insufficient_permissions")) throw error;
  return { stores: [], hasMore: false, refusal: error.message };
}

export function loadMoreCollections(): Promise<void> {
  wantedPages++;
  return loadCollections({ asks: true });
}

export function forgetCollection(id: string): void {
  const { value } = loaded.value;
  if (value !== undefined) {
    loaded.set({ ...value, stores: value.stores.filter((one) => one.id !== id) });
  }
}

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
  loaded.set(undefined);
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
