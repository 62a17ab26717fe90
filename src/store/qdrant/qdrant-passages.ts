/** The passages of a collection of a Qdrant server, for a thread: requests and answers are large. */
import type { Schemas } from "@qdrant/js-client-rest";
import { toUnitLength } from "../../core/embedding/embedding-service.ts";
import type {
  Passage,
  ScoredPassage,
  SearchBounds,
  StoredDocument,
  WordMatch,
} from "../../core/ports/passage-repository.ts";
import { type DocumentNames, namesIn } from "../document-names.ts";
import { bytesOfPoints } from "./api.ts";
import { countIn, type QdrantConnection, withPoints, withScores } from "./connection.ts";
import { listDocuments } from "./list-documents.ts";
import {
  askFor,
  batchesOf,
  type CollectionShape,
  cosine,
  documentField,
  fullScore,
  passageOf,
  payloadFields,
  pointId,
  pointOf,
  questionTerms,
  shareOf,
  vectorOf,
  wordsVector,
} from "./points.ts";

type ScoredPoint = Schemas["ScoredPoint"];

/** Which collection, as the server described it. */
export interface QdrantPlace {
  name: string;
  shape: CollectionShape;
}

/** Some passages in the order of their ids; the vectors one after another. `next`: where to go on. */
export interface PassagePage {
  passages: Passage[];
  vectors: Float32Array;
  next: string | null;
}

const mostPassages = 256;
/** Of the vectors of a page, about. */
const pageBytes = 4 << 20;
const bytesOfValue = 21;
export class QdrantPassages {
  readonly #connection: QdrantConnection;
  readonly #name: string;
  readonly #shape: CollectionShape;

  constructor(connection: QdrantConnection, { name, shape }: QdrantPlace) {
    this.#connection = connection;
    this.#name = name;
    this.#shape = shape;
  }

  count(): Promise<number> {
    return this.#countOf({});
  }

  documents(): Promise<StoredDocument[]> {
    return listDocuments(this.#connection, this.#name);
  }

  async passagesFrom(from: string | null, document?: string): Promise<PassagePage> {
    const { dimension, dense } = this.#shape;
    const fitting = Math.floor(pageBytes / (dimension * bytesOfValue));
    const limit = Math.min(mostPassages, Math.max(1, fitting));
    const request = {
      ...(document !== undefined && { filter: ofDocument(document) }),
      with_payload: payloadFields,
      with_vector: [dense],
      limit,
    };
    const mostBytes = bytesOfPoints(limit, { dimension });
    const { points, next } = await this.#connection.page(this.#name, request, { from, mostBytes });
    const found = points.flatMap((point) => {
      const passage = passageOf(point);
      const vector = vectorOf(point, this.#shape);
      return passage && vector ? [{ passage, vector }] : [];
    });
    const vectors = new Float32Array(found.length * dimension);
    for (const [at, { vector }] of found.entries()) {
      vectors.set(this.#isCosine ? vector : toUnitLength(vector), at * dimension);
    }
    return { passages: found.map(({ passage }) => passage), vectors, next };
  }

  async page(
    document: string,
    { from, limit }: { from: number; limit: number },
  ): Promise<Passage[]> {
    const { must } = ofDocument(document);
    // A foreign collection may have no positions; its passages are all at 0.
    const unplaced = from === 0 ? [{ is_empty: { key: "position" } }] : [];
    const range = { key: "position", range: { gte: from, lt: from + limit } };
    const filter = { must: [...must, { should: [range, ...unplaced] }] };
    const asked = { filter, with_payload: payloadFields, limit };
    const { points } = await this.#connection.read(async (api) =>
      withPoints(await api.scroll(this.#name, asked, bytesOfPoints(limit))),
    );
    const passages = points.slice(0, limit).flatMap((point) => passageOf(point) ?? []);
    return passages.toSorted((a, b) => a.position - b.position);
  }

  async read(ids: readonly string[]): Promise<Passage[]> {
    if (ids.length === 0) return [];
    const asked = { ids: ids.map(pointId), with_payload: payloadFields };
    const { points } = await this.#connection.read(async (api) =>
      withPoints({ points: await api.points(this.#name, asked, bytesOfPoints(ids.length)) }),
    );
    return points.slice(0, ids.length).flatMap((point) => passageOf(point) ?? []);
  }

  /** `vectors`: of all passages, one after another. */
  async upsert(passages: readonly Passage[], vectors: Float32Array): Promise<void> {
    const { dimension } = this.#shape;
    const embedded = passages.map((passage, at) => {
      pointId(passage.id);
      return { ...passage, vector: vectors.subarray(at * dimension, (at + 1) * dimension) };
    });
    for (const batch of batchesOf(embedded)) {
      const points = batch.map((passage) => pointOf(passage, this.#shape));
      await this.#connection.change((api) => api.upsert(this.#name, { points }));
    }
  }

  async delete(document: string, keep: ReadonlySet<string>): Promise<number> {
    const filter = { ...ofDocument(document), must_not: [{ has_id: [...keep].map(pointId) }] };
    const found = await this.#countOf(filter);
    if (found > 0) await this.#connection.change((api) => api.deletePoints(this.#name, filter));
    return found;
  }

  async search(
    vector: Float32Array,
    { limit, scoreThreshold }: SearchBounds,
    documents?: DocumentNames,
  ): Promise<ScoredPassage[]> {
    const request = { limit, with_payload: payloadFields, ...selecting(documents) };
    const points = await this.#nearest(vector, request, scoreThreshold);
    return points.flatMap((point) => {
      const passage = passageOf(point);
      return passage ? [{ ...passage, score: point.score }] : [];
    });
  }

  async matchWords(
    text: string,
    vector: Float32Array,
    limit: number,
    documents?: DocumentNames,
  ): Promise<WordMatch[]> {
    const terms = questionTerms(text);
    if (terms.length === 0) return [];
    const { points, full } = await this.#pointsWith(terms, limit, documents);
    if (points.length === 0) return [];
    const cosines = await this.#cosinesOf(points, vector);
    return points.flatMap((point) => {
      const passage = passageOf(point);
      const score = cosines.get(String(point.id));
      const words = shareOf(point.score, full);
      return passage && score !== undefined ? [{ ...passage, score, words }] : [];
    });
  }

  get #isCosine(): boolean {
    return this.#shape.distance === "cosine";
  }

  /** One round trip: the question, and each of its terms alone. */
  async #pointsWith(
    terms: readonly number[],
    limit: number,
    documents: DocumentNames | undefined,
  ): Promise<{ points: ScoredPoint[]; full: number }> {
    const whole = {
      query: askFor(terms),
      using: wordsVector,
      limit,
      with_payload: payloadFields,
      ...selecting(documents),
    };
    const alone = terms.map((term) => ({ query: askFor([term]), using: wordsVector, limit: 1 }));
    const searches = [whole, ...alone];
    const mostBytes = bytesOfPoints(limit) + bytesOfPoints(terms.length, { text: termBytes });
    const [[found, ...best], count] = await Promise.all([
      this.#connection.read(async (api) => {
        const results = await api.queryAll(this.#name, { searches }, mostBytes);
        if (!Array.isArray(results)) throw new Error("it has no list of results");
        return results.map(withScores);
      }),
      this.#countOf({}, false),
    ]);
    return {
      points: (found?.points ?? []).slice(0, limit),
      full: fullScore(
        best.slice(0, terms.length).map(({ points }) => points[0]?.score ?? 0),
        Math.max(1, count),
      ),
    };
  }

  async #cosinesOf(
    points: readonly ScoredPoint[],
    vector: Float32Array,
  ): Promise<Map<string, number>> {
    const found = await this.#nearest(vector, {
      filter: { must: [{ has_id: points.map(({ id }) => pointId(String(id))) }] },
      params: { exact: true },
      limit: points.length,
    });
    return new Map(found.map(({ id, score }) => [String(id), score]));
  }

  /** Points by the collection's own distance, scored and sorted by their cosine. */
  async #nearest(
    vector: Float32Array,
    request: Schemas["QueryRequest"] & { limit: number },
    threshold = -1,
  ): Promise<ScoredPoint[]> {
    const isCosine = this.#isCosine;
    const { dense } = this.#shape;
    const query = {
      ...request,
      query: [...vector],
      using: dense === "" ? null : dense,
      ...(isCosine ? threshold > -1 && { score_threshold: threshold } : { with_vector: [dense] }),
    };
    const { dimension } = this.#shape;
    const mostBytes = bytesOfPoints(request.limit, isCosine ? {} : { dimension });
    const { points } = await this.#connection.read(async (api) =>
      withScores(await api.query(this.#name, query, mostBytes)),
    );
    const scored = points.slice(0, request.limit).flatMap((point) => {
      const stored = isCosine ? undefined : vectorOf(point, this.#shape);
      if (!isCosine && stored === undefined) return [];
      const score = stored === undefined ? point.score : cosine(stored, vector);
      return [{ ...point, score: Math.min(1, Math.max(-1, score)) }];
    });
    return isCosine
      ? scored
      : scored.filter(({ score }) => score >= threshold).sort((a, b) => b.score - a.score);
  }

  async #countOf(filter: Schemas["Filter"], exact = true): Promise<number> {
    return await this.#connection.read(async (api) =>
      countIn(await api.count(this.#name, { filter, exact })),
    );
  }
}

/** Of the best point for one term, which comes without its payload. */
const termBytes = 1 << 10;

function selecting(documents: DocumentNames | undefined): { filter?: Schemas["Filter"] } {
  if (documents === undefined) return {};
  const among = [{ key: documentField, match: { any: namesIn(documents) } }];
  return { filter: documents.isOnly ? { must: among } : { must_not: among } };
}

const ofDocument = (document: string) => ({
  must: [{ key: documentField, match: { value: document } }],
});
