/** Says where a passage lies, and calls its document as people know it. */
import { fileIdOf, shownName } from "../documents/records.ts";
import type { ScoredPassage } from "../ports/passage-repository.ts";
import type { FoundPassage } from "./found-passage.ts";

export function located(
  passage: ScoredPassage,
  { store, collection }: { store: string; collection: string },
): FoundPassage {
  const { document } = passage;
  const file = document === "" ? "" : fileIdOf(collection, document);
  return { ...passage, document: shownName(document), store, file };
}
