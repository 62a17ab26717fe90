/** The collections that the node has for this reader, which the API calls vector stores. */
import { computed, effect, signal, untracked } from "@preact/signals";
import { ApiError } from "../../client/api-error.ts";
import { DocumentsClient } from "../../client/documents-client.ts";
import type { Point, VectorStore } from "../../client/wire.ts";
import { api, key, withKey } from "../client.ts";
import { type Failure, failureOf } from "../failure.ts";
import { coming, info, readiness } from "../node/state.ts";

export const documents = new DocumentsClient(api);

export type Access =
  | { state: "unknown" }
  | { state: "open" }
  /** The key does not open documents; the node's words. */
  | { state: "refused"; reason: string }
  | { state: "failed"; failure: Failure };

export const access = signal<Access>({ state: "unknown" });
const known = signal<readonly VectorStore[]>([]);
export const hasMoreCollections = signal(false);
/** How large a file may be, where the node says so. */
export const maxFileBytes = signal<number | undefined>(undefined);

/** The node's own is the one that answers come from where nobody says from which. */
export const isNodes = ({ collection }: VectorStore): boolean =>
  collection === info.value?.vectorstore_config.collection_name;

/** The node's own first, then the newest. */
export const collections = computed(() => [
  ...known.value.filter(isNodes),
  ...known.value.filter((store) => !isNodes(store)),
]);

/** Whether answers can come from anything: from the node's own collection, or from those that the key is bound to. */
export const holdsPassages = computed(() => {
  const nodes = known.value.filter(isNodes);
  const searched = nodes.length > 0 ? nodes : known.value;
  return searched.some(
    ({ file_counts: { completed, in_progress } }) => completed + in_progress > 0,
  );
});

export const nameOf = ({ name, id }: Pick<VectorStore, "name" | "id">): string => name || id;

const shownId = signal<string | undefined>(undefined);

/** The collection that the room of documents shows. */
export const shown = computed(
  () => collections.value.find(({ id }) => id === shownId.value) ?? collections.value[0],
);

export function showCollection(id: string): void {
  shownId.value = id;
}

const pageSize = 100;
/** The collections that came with later pages than the first. */
const laterIds = new Set<string>();

/** Which question was the last: an answer to an earlier one, or to another key, is not shown. */
let lastAsked = 0;

/** `asks`: whether the reader is asked for a key, where the node wants one. */
export async function loadCollections({ asks }: { asks: boolean }): Promise<void> {
  const own = ++lastAsked;
  const load = async () => {
    const [page, bytes] = await Promise.all([
      documents.stores({ limit: pageSize }),
      maxFileBytes.value ?? documents.maxFileBytes(),
    ]);
    return { page, bytes };
  };
  try {
    const { page, bytes } = await (asks ? withKey(load) : load());
    if (own !== lastAsked) return;
    if (!page.has_more) laterIds.clear();
    // Those that were asked for beyond the first page stay, as they were.
    const later = known.value.filter(({ id }) => laterIds.has(id));
    known.value = [...page.data, ...later];
    if (laterIds.size === 0) hasMoreCollections.value = page.has_more;
    maxFileBytes.value = bytes;
    access.value = { state: "open" };
  } catch (error) {
    if (own !== lastAsked) return;
    access.value = accessAfter(error);
  }
}

export async function loadMoreCollections(): Promise<void> {
  const last = known.value.at(-1);
  try {
    const page = await withKey(() => documents.stores({ limit: pageSize, after: last?.id }));
    for (const { id } of page.data) laterIds.add(id);
    known.value = [...known.value, ...page.data];
    hasMoreCollections.value = page.has_more;
  } catch (error) {
    access.value = accessAfter(error);
  }
}

/** Puts what the node says of one collection into its place. */
export function putCollection(store: VectorStore): void {
  const isKnown = known.value.some(({ id }) => id === store.id);
  known.value = isKnown
    ? known.value.map((one) => (one.id === store.id ? store : one))
    : [store, ...known.value];
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

/** How far the node is: what it says of collections may be more once it has all. */
const stage = computed(() => readiness.value && [readiness.value.status, ...coming.value].join());

/** Looks for collections when the page opens, when the node is ready, and with every other key; nobody is asked for one. */
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
  laterIds.clear();
}

/** Each once, in the order of the passages; a browser may have stored passages that do not say. */
export function collectionsOf(points: readonly Point[]): string[] {
  const ids = points.map(({ metadata }) => metadata?.vector_store_id ?? undefined);
  return [...new Set(ids.filter((id) => id !== undefined))].map(collectionName);
}

function collectionName(id: string): string {
  const store = collections.value.find((one) => one.id === id);
  if (store !== undefined) return nameOf(store);
  const isAllKnown = access.value.state === "open" && !hasMoreCollections.value;
  return isAllKnown ? `${id} (not there any more)` : id;
}
