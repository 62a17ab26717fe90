/** Menu to choose the collections for answers or passages. */
import { useRef } from "preact/hooks";
import type { VectorStore } from "../../client/wire.ts";
import { collections, isNodes, nameOf } from "./collections.ts";

/** Most collections that the node searches at once. */
const most = 16;

interface CollectionChoiceProps {
  /** Ids of the chosen collections; none: the node's own. */
  chosen: readonly string[];
  onChoose: (ids: readonly string[]) => void;
}

export function CollectionChoice({ chosen, onChoose }: CollectionChoiceProps) {
  const menu = useRef<HTMLDetailsElement>(null);
  const close = (): void => {
    if (menu.current !== null) menu.current.open = false;
  };
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
  return (
    <details
      class="menu choice"
      ref={menu}
      onFocusOut={({ relatedTarget, currentTarget }) => {
        if (!(relatedTarget instanceof Node && currentTarget.contains(relatedTarget))) close();
      }}
      onKeyDown={({ key }) => {
        if (key !== "Escape") return;
        close();
        menu.current?.querySelector("summary")?.focus();
      }}
    >
      <summary>
        From {picked.length === 1 ? picked.map(nameOf) : `${picked.length} collections`}
      </summary>
      <fieldset>
        <legend class="visually-hidden">Collections that answers come from</legend>
        {all.map((store) => {
          const on = isChosen(store);
          return (
            <label key={store.id}>
              <input
                type="checkbox"
                checked={on}
                disabled={
                  (!on && picked.length >= most) || (on && picked.length === 1 && isNodes(store))
                }
                onChange={({ currentTarget }) => choose(store, currentTarget.checked)}
              />
              <bdi>{nameOf(store)}</bdi>
            </label>
          );
        })}
      </fieldset>
    </details>
  );
}
