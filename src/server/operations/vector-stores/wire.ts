/** Vector stores between the wire and the domain. */
import type { FileCounts } from "../../../core/documents/records.ts";
import type { NewStore, StoreView } from "../../../core/documents/vector-store-service.ts";
import { given } from "../../../core/given.ts";
import { checkedPairs } from "../../wire/attributes.ts";
import { toSeconds } from "../../wire/unix-time.ts";
import { withoutNulls } from "../../wire/without-nulls.ts";
import type { VectorStore, VectorStoreRequest, VectorStoreUpdate } from "./schema.ts";

export function toVectorStore(view: StoreView): VectorStore {
  const { store, counts, usageBytes, expiresAt, isExpired } = view;
  const { id, name, description, metadata, collection, expiresAfterDays: days } = store;
  const isBusy = counts.in_progress > 0;
  return {
    id,
    object: "vector_store",
    created_at: toSeconds(store.createdAt),
    name,
    description: description ?? null,
    usage_bytes: usageBytes,
    file_counts: toCounts(counts),
    status: isExpired ? "expired" : isBusy ? "in_progress" : "completed",
    expires_after: days === undefined ? null : { anchor: "last_active_at", days },
    expires_at: expiresAt === undefined ? null : toSeconds(expiresAt),
    last_active_at: toSeconds(store.lastActiveAt),
    metadata: { ...metadata },
    collection,
  };
}

export function toCounts(counts: FileCounts): VectorStore["file_counts"] {
  const { in_progress, completed, failed, cancelled } = counts;
  const total = in_progress + completed + failed + cancelled;
  return { in_progress, completed, failed, cancelled, total };
}

export function toNewStore(body: VectorStoreRequest): NewStore {
  const { name, description, metadata, expires_after: expires } = body;
  return withoutNulls({
    name,
    description,
    metadata: metadata && checkedPairs(metadata, "metadata"),
    expiresAfterDays: expires?.days,
  });
}

/** A field that is null is emptied; one that is absent stays. */
export function toStoreChange(
  body: VectorStoreUpdate,
): Omit<NewStore, "expiresAfterDays"> & { expiresAfterDays?: number | null } {
  const { name, metadata, expires_after: expires } = body;
  return given({
    name: name === null ? "" : name,
    metadata: metadata === undefined ? undefined : checkedPairs(metadata ?? {}, "metadata"),
    expiresAfterDays: expires === undefined ? undefined : (expires?.days ?? null),
  });
}
