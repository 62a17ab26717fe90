/** The documents of a collection, with their status and actions. */

import { useState } from "preact/hooks";
import type { VectorStore, VectorStoreFile } from "../../client/wire.ts";
import { byteSize } from "../../core/byte-size.ts";
import { Button, FailureNote } from "../components/controls.tsx";
import { nameOf } from "./collections.ts";
import { counted } from "./file-check.ts";
import {
  type Listing,
  listing,
  listingFailure,
  loadPage,
  nextPage,
  pageBefore,
  pageSize,
  refreshShown,
} from "./listing.ts";
import { read } from "./reading.ts";
import { isUploaded, RemovalDialog, removeDocument } from "./removal.tsx";

export function DocumentList({ store }: { store: VectorStore }) {
  const [removing, setRemoving] = useState<VectorStoreFile>();
  const shown = listing.value?.store === store.id ? listing.value : undefined;
  const failure = listingFailure.value;
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
  const { cursors, hasMore, files } = shown;
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
          onClick={() => void pageBefore(shown)}
        />
        <Button label="Older" disabled={!hasMore} onClick={() => void nextPage(shown)} />
      </div>
    </nav>
  );
}
