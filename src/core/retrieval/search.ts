/** Types of a search: its scope, its targets and its results. */
import type { DocumentCaller } from "../documents/document-caller.ts";
import type { AttributeFilter } from "../documents/records.ts";
import { fileIdOf, shownName } from "../documents/records.ts";
import type {
  DocumentSelection,
  PassageRepository,
  ScoredPassage,
  WordMatch,
} from "../ports/passage-repository.ts";

export interface SearchScope {
  caller: DocumentCaller;
  /** Ids or names of vector stores; default: those the caller is bound to, or the node's collection. */
  stores?: readonly string[];
  /** The request's field of a store, for errors. */
  fieldOf?: (index: number) => string;
  filter?: AttributeFilter;
  /** Whether to rerank, if the node has a reranking model; default: true. */
  isReranked?: boolean;
}

export interface SearchTarget {
  store: string;
  collection: string;
  repository: PassageRepository;
  queryPrefix: string;
  /** Absent: all. */
  documents?: DocumentSelection;
  /** Those of the documents that may be shown. */
  shown: (documents: readonly string[]) => Promise<ReadonlySet<string>>;
}

/** How far all of the question's words raise a score towards 1: the best of 0.2 to 1 (bench/README.md). */
const wordWeight = 0.7;

/** In descending score: the cosine, raised towards 1 by the matching words, and so never below a threshold that the cosine passes. */
export function fuse(
  near: readonly ScoredPassage[],
  matched: readonly WordMatch[],
): ScoredPassage[] {
  const found = new Map(near.map((passage) => [passage.id, passage]));
  for (const { words, ...passage } of matched) {
    const score = passage.score + wordWeight * words * (1 - passage.score);
    found.set(passage.id, { ...passage, score });
  }
  return [...found.values()].sort((a, b) => b.score - a.score);
}

export interface FoundPassage extends ScoredPassage {
  /** The name to show to people: for an uploaded file, its own name. */
  document: string;
  store: string;
  file: string;
}

/** Where a passage can be read again. */
export type PassagePlace = Pick<FoundPassage, "id" | "store" | "score">;

export function located(
  passage: ScoredPassage,
  { store, collection }: { store: string; collection: string },
): FoundPassage {
  const { document } = passage;
  const file = document === "" ? "" : fileIdOf(collection, document);
  return { ...passage, document: shownName(document), store, file };
}
