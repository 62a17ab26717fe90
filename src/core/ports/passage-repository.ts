/** Port: storage and search of passages and their vectors. One contract suite tests every implementation. */

export interface Passage {
  /** A UUID; storing a passage under an id that exists replaces it. */
  id: string;
  source: string;
  /** The document it comes from; empty if a foreign collection does not store it. */
  document: string;
  /** The headings above it, outermost first, as one line; empty if there are none. */
  heading: string;
  /** Its index among the document's passages, from 0. */
  position: number;
  /** Digest of the embedded text: equal digests have equal vectors. */
  hash: string;
  /** Digest of the document's content, and of how it is split and embedded. */
  documentHash: string;
  /** How many passages that version of the document has. */
  parts: number;
}

export interface EmbeddedPassage extends Passage {
  /** Unit length, of the collection's dimension. */
  vector: Float32Array;
}

export interface ScoredPassage extends Passage {
  /** Cosine similarity to the query, -1 to 1. */
  score: number;
}

export interface WordMatch extends ScoredPassage {
  /** Share of the question's words that it contains, weighted by rarity, 0 to 1. */
  words: number;
}

export interface SearchBounds {
  limit: number;
  scoreThreshold: number;
}

/** Which documents to search; absent: all. Passages of others do not count towards the limit. */
export type DocumentSelection = { only: ReadonlySet<string> } | { except: ReadonlySet<string> };

/** The model whose vectors a collection holds, with its prefixes. */
export interface EmbeddingIdentity {
  model: string;
  /** Digest of the model's weights. */
  fingerprint: string;
  queryPrefix: string;
  documentPrefix: string;
}

export interface CollectionSpec {
  dimension: number;
  embedding: EmbeddingIdentity;
}

export interface CollectionDescription {
  name: string;
  dimension: number;
  /** `cosine` in collections of the node; a foreign one may use another. */
  distance: string;
  /** Without credentials. */
  url: string;
  /** Absent if the collection does not store it. */
  embedding?: EmbeddingIdentity;
}

export interface StoredDocument {
  name: string;
  /** The digest that all of its passages have; absent if they differ. */
  hash?: string;
  passages: number;
  parts: number;
}

export interface PassageRepository extends AsyncDisposable {
  readonly matchesWords: boolean;
  describe(): Promise<CollectionDescription>;
  count(): Promise<number>;
  /** Changes when passages are added or removed; with some servers, a few seconds later. */
  revision(): Promise<string>;
  /** Every document that has passages, by name. */
  documents(): Promise<StoredDocument[]>;
  /** The stored passages, of one document or of all; each once, in no particular order. */
  passages(document?: string): AsyncIterable<EmbeddedPassage>;
  /** Up to `limit` passages of a document, in order, from a position on. */
  page(document: string, range: { from: number; limit: number }): Promise<Passage[]>;
  /** The stored passages with these ids; each once, in no particular order. */
  read(ids: readonly string[]): Promise<Passage[]>;
  /** Stores the passages; once it returns, they survive a crash. Refuses all if one vector has another dimension or is not finite. */
  upsert(passages: readonly EmbeddedPassage[]): Promise<void>;
  /** Deletes a document's passages, except those with ids in `keep`; returns how many. */
  delete(document: string, keep?: ReadonlySet<string>): Promise<number>;
  /** The nearest passages in descending score, at most `limit`, none under `scoreThreshold`. */
  search(
    vector: Float32Array,
    bounds: SearchBounds,
    documents?: DocumentSelection,
  ): Promise<ScoredPassage[]>;
  /** The passages that match the text's words best, at most `limit`, with their cosine as well. */
  matchWords(
    text: string,
    vector: Float32Array,
    limit: number,
    documents?: DocumentSelection,
  ): Promise<WordMatch[]>;
}

export interface CollectionStore {
  list(): Promise<string[]>;
  /** Whether a collection is not there that may come back: its file was moved, its disk is away, or its server came back empty. */
  isMissing(name: string): Promise<boolean>;
  /** Undefined if there is no such collection. */
  open(name: string): Promise<PassageRepository | undefined>;
  /** Creates an empty collection; if one with that name was created meanwhile, opens it instead. */
  create(name: string, spec: CollectionSpec): Promise<PassageRepository>;
  /** `forGood`: the name is not used again, so nothing is left for processes that have the collection open. */
  drop(name: string, options?: { forGood: boolean }): Promise<void>;
}
