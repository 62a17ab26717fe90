/** The documents of a collection, page by page; polled while some are ingested. */
import { computed, effect } from "@preact/signals";
import { useState } from "preact/hooks";
import { ApiError } from "../../client/api-error.ts";
import type { VectorStore, VectorStoreFile } from "../../client/wire.ts";
import { byteSize } from "../../core/byte-size.ts";
import { announce } from "../browser.ts";
import { api, Loaded, withKey } from "../client.ts";
import { Button, FailureNote } from "../components/controls.tsx";
import { collections, loadCollections, nameOf, shown } from "./collections.ts";
import { read } from "./reading.ts";
import { isUploaded, RemovalDialog, removeDocument } from "./removal.tsx";
import { counted } from "./upload-queue.ts";

export function DocumentList({ store }: { store: VectorStore }) {
  const [removing, setRemoving] = useState<VectorStoreFile>();
  const shown = listingOf(store);
  const failure = listing.failure.value;
  return (
    <section aria-labelledby="documents-title">
      <h4 id="documents-title" tabIndex={-1}>
        {counted(store.file_counts.total, "document")}
      </h4>
      {failure !== undefined && (
        <FailureNote message={failure.message} onRetry={() => void loadPage(store.id)} />
      )}
      {shown === undefined && failure === undefined && <p class="note">Looking …</p>}
      {shown?.files.length === 0 && <p>This collection holds nothing yet.</p>}
      {shown !== undefined && shown.files.length > 0 && (
        <>
          <ul class="document-list">
            {shown.files.map((file) => (
              <Document key={file.id} file={file} onRemove={() => setRemoving(file)} />
            ))}
          </ul>
          <Pages shown={shown} total={store.file_counts.total} />
        </>
      )}
      {removing !== undefined && (
        <RemovalDialog
          title="Remove this document?"
          lost={
            <>
              “<bdi>{removing.filename}</bdi>” leaves {nameOf(store)} with{" "}
              {counted(removing.passages, "passage")}: no answer comes from it any more.
            </>
          }
          action="Remove it"
          files={isUploaded(removing) ? "the uploaded file" : undefined}
          remove={(options) => removeDocument(store.id, removing, options)}
          onClose={() => setRemoving(undefined)}
          onDone={() => void refreshShown()}
          focusAfter="documents-title"
        />
      )}
    </section>
  );
}

const states: Readonly<Record<VectorStoreFile["status"], string>> = {
  in_progress: "Being ingested",
  completed: "Ready",
  failed: "Failed",
  cancelled: "Cancelled",
};

function Document({ file, onRemove }: { file: VectorStoreFile; onRemove: () => void }) {
  const { id, vector_store_id: store, filename: name, status, passages, bytes } = file;
  const reason = file.last_error?.message;
  return (
    <li class={`document ${status}`}>
      <p class="name">
        <bdi>{name}</bdi>
      </p>
      <p class="note facts-line">
        <span class="status">{states[status]}</span>
        {status === "completed" && <span>{counted(passages, "passage")}</span>}
        {bytes !== undefined && <span>{byteSize(bytes)}</span>}
        {!isUploaded(file) && <span>not uploaded: from a command or the node itself</span>}
      </p>
      {reason !== undefined && <p class={status === "failed" ? "reason" : "note"}>{reason}</p>}
      <span class="actions">
        {status === "completed" && passages > 0 && (
          <Button
            label="Read"
            class="quiet"
            onClick={() => read({ store, file: id, name })}
            about={name}
          />
        )}
        <Button label="Remove" class="quiet" onClick={onRemove} about={name} />
      </span>
    </li>
  );
}

function Pages({ shown, total }: { shown: Listing; total: number }) {
  const { store, cursors, hasMore, files } = shown;
  if (cursors.length === 0 && !hasMore) return null;
  const first = cursors.length * pageSize + 1;
  return (
    <nav class="row between" aria-label="Pages of documents">
      <p class="note">
        {first} to {first + files.length - 1} of {total}
      </p>
      <div class="row">
        <Button
          label="Newer"
          disabled={cursors.length === 0}
          onClick={() => void loadPage(store, cursors.slice(0, -1))}
        />
        <Button
          label="Older"
          disabled={!hasMore}
          onClick={() => void loadPage(store, [...cursors, files.at(-1)?.id ?? ""])}
        />
      </div>
    </nav>
  );
}

interface Listing {
  store: string;
  files: readonly VectorStoreFile[];
  hasMore: boolean;
  /** The last document of each previous page; empty on the first page. */
  cursors: readonly string[];
}

const pageSize = 25;

const listing = new Loaded<Listing>();

/** Undefined while another collection's documents are shown. */
export const listingOf = (store: VectorStore | undefined): Listing | undefined =>
  listing.value.value?.store === store?.id ? listing.value.value : undefined;

/** According to the collections or the list: they load separately, and one may show it sooner. */
export const isIngesting = computed(
  () =>
    collections.value.some(({ file_counts }) => file_counts.in_progress > 0) ||
    listingOf(shown.value)?.files.some(({ status }) => status === "in_progress") === true,
);

let asked: Pick<Listing, "store" | "cursors"> | undefined;

export function loadPage(store: string, cursors: readonly string[] = []): Promise<void> {
  const own = { store, cursors };
  asked = own;
  return listing.load(async () => {
    const page = await filesAfter(store, cursors.at(-1)).catch((error: unknown) => {
      // The document before this page was removed meanwhile.
      if (error instanceof ApiError && error.param === "after") return undefined;
      throw error;
    });
    if (page !== undefined && (page.data.length > 0 || cursors.length === 0)) {
      return { store, files: page.data, hasMore: page.has_more, cursors };
    }
    if (asked === own) asked = { store, cursors: [] };
    const { data: files, has_more: hasMore } = await filesAfter(store, undefined);
    return { store, files, hasMore, cursors: [] };
  });
}

const filesAfter = (store: string, after: string | undefined) =>
  withKey(() => api.storeFiles(store, { limit: pageSize, after }));

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
