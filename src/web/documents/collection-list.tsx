/** The collections to choose from, and the button that makes another. */
import { useState } from "preact/hooks";
import type { VectorStore } from "../../client/wire.ts";
import { withKey } from "../client.ts";
import {
  collections,
  documents,
  hasMoreCollections,
  isNodes,
  loadMoreCollections,
  nameOf,
  putCollection,
  showCollection,
  shown,
} from "./collections.ts";
import { NameDialog } from "./name-dialog.tsx";
import { counted } from "./size-text.ts";

export function CollectionList() {
  const [isNaming, setNaming] = useState(false);
  const make = async (name: string): Promise<void> => {
    const made = await withKey(() => documents.createStore(name));
    putCollection(made);
    showCollection(made.id);
  };
  return (
    <nav class="collections" aria-label="Collections">
      <ul>
        {collections.value.map((store) => (
          <li key={store.id}>
            <button
              type="button"
              aria-current={store.id === shown.value?.id}
              onClick={() => showCollection(store.id)}
            >
              <bdi>{nameOf(store)}</bdi>
              <span class="note">{summaryOf(store)}</span>
            </button>
          </li>
        ))}
      </ul>
      {hasMoreCollections.value && (
        <button type="button" class="quiet" onClick={() => void loadMoreCollections()}>
          More collections
        </button>
      )}
      <button type="button" onClick={() => setNaming(true)}>
        New collection
      </button>
      {isNaming && (
        <NameDialog
          title="A new collection"
          action="Make it"
          onName={make}
          onClose={() => setNaming(false)}
        />
      )}
    </nav>
  );
}

function summaryOf(store: VectorStore): string {
  const { in_progress: coming, failed, total } = store.file_counts;
  if (store.status === "expired") return "expired";
  return [
    counted(total, "document"),
    ...(coming > 0 ? [`${coming} being taken in`] : []),
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(isNodes(store) ? ["answers come from here by default"] : []),
  ].join(", ");
}
