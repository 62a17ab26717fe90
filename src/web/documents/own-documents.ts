/** Whether answers would come from the reader's own documents: from more than the node's handbook. */
import { effect, signal, untracked } from "@preact/signals";
import type { VectorStore, VectorStoreFile } from "../../client/wire.ts";
import { collections, documents, isNodes } from "./collections.ts";

export const holdsOwnDocuments = signal(false);

/** What the names of the handbook's documents begin with; no uploaded file's name does. */
const handbook = "paddock:handbook/";
/** More than the handbook has pages, so that something else is among them where there is something else. */
const looked = 100;

/** A key is bound to few; looking through more would ask too much. */
const mostBound = 16;

export const isOwn = ({
  filename,
  status,
}: Pick<VectorStoreFile, "filename" | "status">): boolean =>
  !filename.startsWith(handbook) && (status === "completed" || status === "in_progress");

/** Where the node searches when nobody says where: in its own collection, or in those that the key is bound to. */
function usualOf(all: readonly VectorStore[]): VectorStore[] {
  const nodes = all.filter(isNodes);
  return nodes.length > 0 ? nodes : all.slice(0, mostBound);
}

/** Looks again whenever the numbers of those collections change. */
export function watchOwnDocuments(): void {
  let before = "";
  effect(() => {
    const usual = usualOf(collections.value).filter(({ file_counts }) => file_counts.total > 0);
    // A file that takes the handbook's place may leave the count as it was, but not the bytes.
    const now = JSON.stringify(
      usual.map(({ id, file_counts, usage_bytes }) => [id, file_counts, usage_bytes]),
    );
    if (now === before) return;
    before = now;
    untracked(() => void look(usual));
  });
}

async function look(stores: readonly VectorStore[]): Promise<void> {
  try {
    for (const { id } of stores) {
      const { data } = await documents.storeFiles(id, { limit: looked });
      if (data.some(isOwn)) {
        holdsOwnDocuments.value = true;
        return;
      }
    }
    holdsOwnDocuments.value = false;
  } catch {
    // A key that does not open documents, or a node that is away: the switch stays as it is.
  }
}
