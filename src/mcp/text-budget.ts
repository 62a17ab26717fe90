/** How much text one answer may have: a client puts all of it before a model. */

const most = 200_000;

export interface Budgeted<Item> {
  items: Item[];
  /** Whether something was left out, or cut. */
  isCut: boolean;
}

/** The first of them, as far as there is room; one that is longer than all of it is cut. */
export function withinBudget<Item extends { text: string }>(all: readonly Item[]): Budgeted<Item> {
  const items: Item[] = [];
  let left = most;
  for (const item of all) {
    if (item.text.length > left) {
      if (items.length === 0) items.push({ ...item, text: item.text.slice(0, left) });
      return { items, isCut: true };
    }
    left -= item.text.length;
    items.push(item);
  }
  return { items, isCut: false };
}
