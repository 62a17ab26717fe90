/** The list of collections, and a menu to choose from them. */
import { useState } from "preact/hooks";
import type { VectorStore } from "../../client/wire.ts";
import { api, withKey } from "../client.ts";
import { Button, Menu, TextDialog } from "../components/controls.tsx";
import {
  collections,
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
    const made = await withKey(() => api.createStore(name));
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

interface NameDialogProps {
  title: string;
  action: string;
  name?: string;
  onName: (name: string) => Promise<void>;
  onClose: () => void;
}

export const NameDialog = ({ name = "", onName, ...rest }: NameDialogProps) => (
  <TextDialog
    label="Name of the collection"
    field={{ maxLength: 256, defaultValue: name }}
    onText={onName}
    {...rest}
  />
);

/** Most collections that the node searches at once. */
const most = 16;

interface CollectionChoiceProps {
  /** Ids of the chosen collections; undefined: the node's own. */
  chosen: readonly string[] | undefined;
  onChoose: (ids: readonly string[] | undefined) => void;
}

/** Menu to choose the collections for answers or passages. */
export function CollectionChoice({ chosen, onChoose }: CollectionChoiceProps) {
  const all = collections.value;
  // With one collection there is nothing to choose.
  if (all.length < 2) return null;
  const isChosen = (store: VectorStore): boolean => chosen?.includes(store.id) ?? isNodes(store);
  const picked = all.filter(isChosen);
  const choose = (store: VectorStore, on: boolean): void => {
    const next = on ? [...picked, store] : picked.filter(({ id }) => id !== store.id);
    const isUsual = next.length === 0 || (next.length === 1 && next.every(isNodes));
    onChoose(isUsual ? undefined : next.map(({ id }) => id));
  };
  const item = (store: VectorStore) => {
    const on = isChosen(store);
    const isFixed = on ? picked.length === 1 && isNodes(store) : picked.length >= most;
    return (
      <label key={store.id}>
        <input
          type="checkbox"
          checked={on}
          disabled={isFixed}
          onChange={({ currentTarget }) => choose(store, currentTarget.checked)}
        />
        <bdi>{nameOf(store)}</bdi>
      </label>
    );
  };
  const names = picked.length === 1 ? picked.map(nameOf) : `${picked.length} collections`;
  return (
    <Menu class="menu choice" summary={<>From {names}</>}>
      {() => (
        <fieldset>
          <legend class="visually-hidden">Collections that answers come from</legend>
          {all.map(item)}
        </fieldset>
      )}
    </Menu>
  );
}
