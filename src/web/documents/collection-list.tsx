/** The list of collections, with a button to create one. */
import { useId, useState } from "preact/hooks";
import type { VectorStore } from "../../client/wire.ts";
import { withKey } from "../client.ts";
import { Button, FailureNote } from "../components/controls.tsx";
import { Dialog } from "../components/dialog.tsx";
import { failureOf } from "../failure.ts";
import {
  collections,
  documents,
  hasMoreCollections,
  isNodes,
  loadCollections,
  loadMoreCollections,
  nameOf,
  showCollection,
  shown,
} from "./collections.ts";
import { counted } from "./upload-queue.ts";

export function CollectionList() {
  const [isNaming, setNaming] = useState(false);
  const make = async (name: string): Promise<void> => {
    const made = await withKey(() => documents.createStore(name));
    await loadCollections({ asks: false });
    showCollection(made.id);
  };
  return (
    <nav class="collections" aria-label="Collections">
      <ul>
        {collections.value.map((store) => (
          <li key={store.id}>
            <Button
              aria-current={store.id === shown.value?.id}
              onClick={() => showCollection(store.id)}
            >
              <bdi>{nameOf(store)}</bdi>
              <span class="note">{summaryOf(store)}</span>
            </Button>
          </li>
        ))}
      </ul>
      {hasMoreCollections.value && (
        <Button label="More collections" class="quiet" onClick={() => void loadMoreCollections()} />
      )}
      <Button label="New collection" onClick={() => setNaming(true)} />
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
    ...(coming > 0 ? [`${coming} being ingested`] : []),
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(isNodes(store) ? ["answers come from here by default"] : []),
  ].join(", ");
}

const longest = 256;

interface NameDialogProps {
  title: string;
  action: string;
  name?: string;
  /** Settles when the request is done. */
  onName: (name: string) => Promise<void>;
  onClose: () => void;
}

export function NameDialog({ title, action, name = "", onName, onClose }: NameDialogProps) {
  const [text, setText] = useState(name);
  const [failure, setFailure] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const id = useId();
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (isBusy || text.trim() === "") return;
    setBusy(true);
    try {
      await onName(text.trim());
      onClose();
    } catch (error) {
      setFailure(failureOf(error).message);
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={submit}>
        <label for={id}>Name of the collection</label>
        <input
          id={id}
          required
          maxLength={longest}
          autocomplete="off"
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
        {failure !== undefined && <FailureNote message={failure} />}
        <div class="row end">
          <Button label="Cancel" onClick={onClose} />
          <button type="submit" class="primary" disabled={isBusy}>
            {action}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
