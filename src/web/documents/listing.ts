/** Pages of documents of the collection shown, polled while documents are ingested. */
import { computed, effect, signal } from "@preact/signals";
import { ApiError } from "../../client/api-error.ts";
import type { VectorStoreFile } from "../../client/wire.ts";
import { announce } from "../browser.ts";
import { Questions, withKey } from "../client.ts";
import { type Failure, failureOf } from "../failure.ts";
import { collections, documents, loadCollections, shown } from "./collections.ts";

export interface Listing {
  store: string;
  files: readonly VectorStoreFile[];
  hasMore: boolean;
  /** The last document of each previous page; empty on the first page. */
  cursors: readonly string[];
}

export const pageSize = 25;

export const listing = signal<Listing | undefined>(undefined);
export const listingFailure = signal<Failure | undefined>(undefined);

/** According to the collections or the list: they load separately, and one may show it sooner. */
export const isIngesting = computed(
  () =>
    collections.value.some(({ file_counts }) => file_counts.in_progress > 0) ||
    (listing.value?.store === shown.value?.id &&
      listing.value?.files.some(({ status }) => status === "in_progress") === true),
);

const questions = new Questions();
let asked: Pick<Listing, "store" | "cursors"> | undefined;

export function loadPage(store: string, cursors: readonly string[] = []): Promise<void> {
  asked = { store, cursors };
  return questions.ask(
    () => withKey(() => documents.storeFiles(store, { limit: pageSize, after: cursors.at(-1) })),
    ({ data: files, has_more: hasMore }) => {
      if (files.length === 0 && cursors.length > 0) return loadPage(store);
      listing.value = { store, files, hasMore, cursors };
      listingFailure.value = undefined;
    },
    (error) => {
      // The document before this page was removed meanwhile.
      if (error instanceof ApiError && error.param === "after") return loadPage(store);
      if (listing.value?.store !== store) listing.value = undefined;
      listingFailure.value = failureOf(error);
    },
  );
}

export async function nextPage({ store, files, cursors }: Listing): Promise<void> {
  const last = files.at(-1);
  if (last !== undefined) await loadPage(store, [...cursors, last.id]);
}

export const pageBefore = ({ store, cursors }: Listing): Promise<void> =>
  loadPage(store, cursors.slice(0, -1));

/** Reloads the collections, and the current page of the one shown. */
export async function refreshShown(): Promise<void> {
  const store = shown.peek()?.id;
  const cursors = asked?.store === store ? asked?.cursors : [];
  await Promise.all([
    store !== undefined && loadPage(store, cursors),
    loadCollections({ asks: false }),
  ]);
}

const soonestMs = 1000;
const latestMs = 5000;

/** Polls while something is ingested and the page is visible; returns a function that stops it. */
export function watchIngest(): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let waitMs = soonestMs;
  let before = "";
  let ended = false;
  const schedule = (): void => {
    clearTimeout(timer);
    const isSeen = document.visibilityState === "visible";
    if (!ended && isSeen && isIngesting.peek()) timer = setTimeout(poll, waitMs);
  };
  const poll = async (): Promise<void> => {
    await refreshShown();
    const now = JSON.stringify(collections.peek().map(({ file_counts }) => file_counts));
    waitMs = now === before ? Math.min(waitMs * 1.5, latestMs) : soonestMs;
    before = now;
    schedule();
  };
  const onVisible = (): void => {
    waitMs = soonestMs;
    schedule();
  };
  let wasIngesting = false;
  const end = effect(() => {
    if (isIngesting.value) onVisible();
    else if (wasIngesting) announce("Nothing is being ingested any more.");
    wasIngesting = isIngesting.value;
  });
  document.addEventListener("visibilitychange", onVisible);
  return () => {
    ended = true;
    end();
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", onVisible);
  };
}
