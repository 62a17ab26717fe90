/** Menu to choose the collections for answers or passages. */
import type { VectorStore } from "../../client/wire.ts";
import { Menu } from "../components/controls.tsx";
import { collections, isNodes, nameOf } from "./collections.ts";

/** Most collections that the node searches at once. */
const most = 16;

interface CollectionChoiceProps {
  /** Ids of the chosen collections; none: the node's own. */
  chosen: readonly string[];
  onChoose: (ids: readonly string[]) => void;
}

export function CollectionChoice({ chosen, onChoose }: CollectionChoiceProps) {
  const all = collections.value;
  // With one collection there is nothing to choose.
  if (all.length < 2) return null;
  const isChosen = (store: VectorStore): boolean =>
    chosen.length === 0 ? isNodes(store) : chosen.includes(store.id);
  const picked = all.filter(isChosen);
  const choose = (store: VectorStore, on: boolean): void => {
    const next = on ? [...picked, store] : picked.filter(({ id }) => id !== store.id);
    const isUsual = next.length === 0 || (next.length === 1 && next.every(isNodes));
    onChoose(isUsual ? [] : next.map(({ id }) => id));
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
