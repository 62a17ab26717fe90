/** A search: in which vector stores and files, for which caller, and what it finds. */

import type { DocumentCaller } from "../documents/document-caller.ts";
import type { AttributeFilter } from "../documents/records.ts";
import { fileIdOf, shownName } from "../documents/records.ts";
import type {
  DocumentSelection,
  PassageRepository,
  ScoredPassage,
  WordMatch,
} from "../ports/passage-repository.ts";
import type { RetrievalBackend } from "./retrieval-service.ts";

export interface SearchScope {
  /** The caller: only what it may see is searched. */
  caller: DocumentCaller;
  /** Ids or names of vector stores; absent: those that the caller is bound to, or the node's collection. */
  stores?: readonly string[];
  /** The request's field that names a store, for a refusal. */
  fieldOf?: (index: number) => string;
  filter?: AttributeFilter;
  /** Whether a reranking model judges, where the node has one; default: true. */
  isReranked?: boolean;
}

export interface SearchTarget {
  /** Id of its vector store; empty where the node has none. */
  store: string;
  collection: string;
  repository: PassageRepository;
  queryPrefix: string;
  /** Absent: all. */
  documents?: DocumentSelection;
  shows: (document: string) => boolean;
}

/** Collections that stay open until this is disposed of. */
export interface SearchTargets extends Disposable {
  all: readonly SearchTarget[];
}

export interface SearchScopes {
  /** Refuses what is not there, or not for the caller. */
  check(scope: SearchScope): Promise<void>;
  /** `ready`: the node's own collection, or why it is not there. */
  open(scope: SearchScope, ready: () => RetrievalBackend): Promise<SearchTargets>;
}

/**
 * How far a passage that has all of the question's words is raised towards 1. It is what served
 * best of 0.2 to 1 (see bench/README.md), and flat around it.
 */
const wordWeight = 0.7;

/**
 * The passages found either way in descending score: the cosine, raised towards 1 by the words. It
 * is never under the cosine, so a threshold lets through what it would without words.
 */
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
  /** As people know it: of an uploaded file its name. */
  document: string;
  /** The vector store that it is in; empty where the node has none. */
  store: string;
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
