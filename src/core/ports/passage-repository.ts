/** Where passages and their vectors live. One contract suite runs against every implementation. */

export interface Passage {
  /** A UUID; storing a passage under an id that exists replaces it. */
  id: string;
  /** The passage's text. */
  source: string;
  /** The document it was taken from; empty where a foreign collection does not say. */
  document: string;
  /** The headings above it, outermost first, as one line; empty where there is none. */
  heading: string;
  /** Its place among the document's passages, from 0. */
  position: number;
  /** Digest of what was embedded: equal digests have equal vectors. */
  hash: string;
  /** Digest of the document's content, and of how it is cut and embedded. */
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
  /** How much of the question's words it has, rare ones counting more, 0 to 1. */
  words: number;
}

export interface SearchBounds {
  limit: number;
  scoreThreshold: number;
}

/** Which documents a search is about; absent: all. What it leaves out makes room for others. */
export type DocumentSelection = { only: ReadonlySet<string> } | { except: ReadonlySet<string> };

/** The model whose vectors a collection holds, and what it puts before texts. */
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
  /** `cosine` is what the node fills; a foreign collection may have another. */
  distance: string;
  /** Address of the store, without credentials. */
  url: string;
  /** Absent where the collection does not say. */
  embedding?: EmbeddingIdentity;
}

export interface StoredDocument {
  name: string;
  /** The digest that all of its passages carry; absent where they do not carry the same one. */
  hash?: string;
  passages: number;
  /** How many there should be. */
  parts: number;
}

export interface PassageRepository extends AsyncDisposable {
  /** Whether it can find passages by their words. */
  readonly matchesWords: boolean;
  describe(): Promise<CollectionDescription>;
  count(): Promise<number>;
  /** Differs where passages were added or removed since; a server that cannot tell says so after some seconds. */
  revision(): Promise<string>;
  /** Every document that has passages, by name. */
  documents(): Promise<StoredDocument[]>;
  /** The stored passages, of one document or of all; each once, in no promised order. */
  passages(document?: string): AsyncIterable<EmbeddedPassage>;
  /** Up to `limit` passages of a document, in order, from a position on. */
  page(document: string, range: { from: number; limit: number }): Promise<Passage[]>;
  /** Those of the passages with these ids that are stored now; each once, in no promised order. */
  read(ids: readonly string[]): Promise<Passage[]>;
  /** Stores the passages; when it returns they survive a crash. Refuses all where one vector is of another dimension or not finite. */
  upsert(passages: readonly EmbeddedPassage[]): Promise<void>;
  /** Removes a document's passages, except those with the ids of `keep`; returns how many. */
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

/** A place that holds collections. */
export interface CollectionStore {
  /** The names of its collections. */
  list(): Promise<string[]>;
  /** The collection as it is; undefined where there is none. */
  open(name: string): Promise<PassageRepository | undefined>;
  /** Makes an empty collection; one of that name that came into being meanwhile is opened instead. */
  create(name: string, spec: CollectionSpec): Promise<PassageRepository>;
  /**
   * Removes a collection with all it holds; one that is not there is no failure. `forGood`: none of
   * that name comes again, so nothing of it stays for those who have it open.
   */
  drop(name: string, options?: { forGood: boolean }): Promise<void>;
}
