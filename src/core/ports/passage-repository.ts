/** Where passages and their vectors live. One contract suite runs against every implementation. */

interface Passage {
  /** A UUID; storing a passage under an id that exists replaces it. */
  id: string;
  /** The passage's text. */
  source: string;
  /** The document it was taken from. */
  document: string;
}

export interface EmbeddedPassage extends Passage {
  /** Unit length, of the collection's dimension. */
  vector: Float32Array;
}

export interface ScoredPassage extends Passage {
  /** Cosine similarity to the query, -1 to 1. */
  score: number;
}

export interface SearchBounds {
  limit: number;
  scoreThreshold: number;
}

export interface CollectionDescription {
  name: string;
  dimension: number;
  distance: "cosine";
  /** Address of the store, without credentials. */
  url: string;
}

export interface PassageRepository extends AsyncDisposable {
  /** Stores the passages; when it returns they survive a crash. All of them, or none. */
  upsert(passages: readonly EmbeddedPassage[]): Promise<void>;
  /** The nearest passages in descending score, at most `limit`, none under `scoreThreshold`. */
  search(vector: Float32Array, bounds: SearchBounds): Promise<ScoredPassage[]>;
  /** Removes a document's passages, except those whose ids are to be kept; returns how many. */
  delete(document: string, keep?: ReadonlySet<string>): Promise<number>;
  count(): Promise<number>;
  describe(): Promise<CollectionDescription>;
}
