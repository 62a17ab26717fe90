/** A search of one or more collections: its scope, its targets, its results, and how they are ranked. */
import type { DocumentCaller } from "../documents/document-caller.ts";
import type { AttributeFilter } from "../documents/records.ts";
import { fileIdOf, shownName } from "../documents/records.ts";
import { NodeError } from "../errors.ts";
import { given } from "../given.ts";
import type { Embedding, EmbedOptions } from "../ports/embedding-engine.ts";
import type {
  DocumentSelection,
  PassageRepository,
  ScoredPassage,
  SearchBounds,
  WordMatch,
} from "../ports/passage-repository.ts";
import type { Reranker } from "../ports/reranker.ts";

export type RetrievalMode = "dense" | "hybrid";

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
function fuse(near: readonly ScoredPassage[], matched: readonly WordMatch[]): ScoredPassage[] {
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

export interface RetrievalResult {
  points: FoundPassage[];
  bounds: SearchBounds;
  /** As configured, or as far as the collection supports it. */
  method: { mode: RetrievalMode; reranked: boolean };
  tokens: number;
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

interface Search {
  question: string;
  bounds: SearchBounds;
  mode: RetrievalMode;
  /** Passages to rank, before the best are taken. */
  candidates: number;
  reranker?: Reranker;
  embed: (texts: readonly string[]) => Promise<Embedding[]>;
  options: EmbedOptions;
}

/** Searches several collections as one: with the same model, their scores are comparable. */
export async function searchAll(
  groups: AsyncIterable<SearchTarget[]>,
  search: Search,
): Promise<RetrievalResult> {
  const { question, bounds, mode, candidates, reranker, options } = search;
  const vectors = new Map<string, Float32Array | undefined>();
  let tokens = 0;
  let isHybrid = false;
  let best: FoundPassage[] = [];
  for await (const targets of groups) {
    options.signal.throwIfAborted();
    tokens += await embedInto(vectors, targets, search);
    isHybrid ||= mode === "hybrid" && targets.some(({ repository }) => repository.matchesWords);
    const isWide = isHybrid || reranker !== undefined;
    const wide = isWide
      ? { limit: Math.max(bounds.limit, candidates), scoreThreshold: -1 }
      : bounds;
    const searched = await Promise.all(
      targets.map(async (target) => {
        const vector = vectors.get(target.queryPrefix);
        if (vector === undefined) throw new NodeError("internal", "The query was not embedded.");
        const { repository, documents } = target;
        const [near, matched] = await Promise.all([
          repository.search(vector, wide, documents),
          isHybrid ? repository.matchWords(question, vector, wide.limit, documents) : [],
        ]);
        const found = isWide ? fuse(near, matched) : near;
        const shown = await target.shown(found.map(({ document }) => document));
        return found
          .filter(({ document }) => shown.has(document))
          .map((passage) => located(passage, target));
      }),
    );
    const all = [best, ...searched].filter((found) => found.length > 0);
    best = (all.length === 1 ? all.flat() : byScore(all.flat())).slice(0, wide.limit);
  }
  const judged = reranker === undefined ? best : await rerank(reranker, best, search);
  const points = judged
    .filter(({ score }) => score >= bounds.scoreThreshold)
    .slice(0, bounds.limit);
  const used = isHybrid ? "hybrid" : "dense";
  return { points, bounds, method: { mode: used, reranked: reranker !== undefined }, tokens };
}

/** Adds the question's vectors with the prefixes that are not embedded yet; returns how many tokens they took. */
async function embedInto(
  vectors: Map<string, Float32Array | undefined>,
  targets: readonly SearchTarget[],
  { question, embed }: Search,
): Promise<number> {
  const wanted = new Set(targets.map(({ queryPrefix }) => queryPrefix));
  const prefixes = [...wanted].filter((prefix) => !vectors.has(prefix));
  if (prefixes.length === 0) return 0;
  const embeddings = await embed(prefixes.map((prefix) => prefix + question));
  for (const [at, prefix] of prefixes.entries()) vectors.set(prefix, embeddings[at]?.vector);
  return embeddings.reduce((sum, { tokens }) => sum + tokens, 0);
}

const byScore = (points: readonly FoundPassage[]): FoundPassage[] =>
  points.toSorted((a, b) => b.score - a.score);

/** Scores each passage with the mean of its vector score and its relevance to the reranking model. */
async function rerank(
  reranker: Reranker,
  points: readonly FoundPassage[],
  { question, options: { signal, report, caller } }: Search,
): Promise<FoundPassage[]> {
  const sources = points.map(({ source }) => source);
  const options = { signal, cutsQuestion: true, ...given({ report, caller }) };
  const { scores: relevances } = await reranker.rank(question, sources, options);
  return byScore(
    points.map((point, at) => ({ ...point, score: (point.score + (relevances[at] ?? 0)) / 2 })),
  );
}
