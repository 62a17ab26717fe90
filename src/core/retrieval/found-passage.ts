/** A passage that was found, with where it lies. */
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
