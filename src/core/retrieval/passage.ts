/** A passage that was found, with where it lies. */

import { fileIdOf, shownName } from "../documents/records.ts";
import type { ScoredPassage } from "../ports/passage-repository.ts";

export interface FoundPassage extends ScoredPassage {
  /** As people know it: of an uploaded file its name. */
  document: string;
  /** The vector store that it is in; empty where the node has none. */
  store: string;
  /** The id of its file. */
  file: string;
}

/** Where a passage can be read again. */
export type PassagePlace = Pick<FoundPassage, "id" | "store" | "score">;

/** Says where a passage lies, and calls its document as people know it. */
export function located(
  passage: ScoredPassage,
  { store, collection }: { store: string; collection: string },
): FoundPassage {
  const { document } = passage;
  const file = document === "" ? "" : fileIdOf(collection, document);
  return { ...passage, document: shownName(document), store, file };
}
