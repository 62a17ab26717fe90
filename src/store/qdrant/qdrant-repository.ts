/** Passages in a collection of a Qdrant server. */
import type { Schemas } from "@qdrant/js-client-rest";
import { toUnitLength } from "../../core/embedding/embedding-service.ts";
import type {
  CollectionDescription,
  DocumentSelection,
  EmbeddedPassage,
  Passage,
  PassageRepository,
  StoredDocument,
} from "../../core/ports/passage-repository.ts";
import { checkVector } from "../../core/retrieval/collection.ts";
import { countIn, type QdrantConnection, withPoints, withScores } from "./connection.ts";
import {
  askFor,
  batchesOf,
  type CollectionShape,
  cosine,
  countOr,
  documentField,
  fullScore,
  passageOf,
  payloadFields,
  pointId,
  pointOf,
  questionTerms,
  shareOf,
  textOr,
  vectorOf,
  wordsVector,
} from "./points.ts";

type ScoredPoint = Schemas["ScoredPoint"];

const passagePage = 256;
const documentPage = 2000;
const revisionMs = 10_000;

export class QdrantRepository implements PassageRepository {
  readonly matchesWords: boolean;
  readonly #connection: QdrantConnection;
  readonly #name: string;
  readonly #shape: CollectionShape;

  constructor(connection: QdrantConnection, name: string, shape: CollectionShape) {
    this.#connection = connection;
    this.#name = name;
    this.#shape = shape;
    this.matchesWords = shape.hasCurrentWords;
  }

  async describe(): Promise<CollectionDescription> {
    const { dimension, distance, embedding } = this.#shape;
    const { url } = this.#connection;
    return { name: this.#name, dimension, distance, url, ...(embedding && { embedding }) };
  }

  async count(): Promise<number> {
    return this.#countOf({});
  }

  /** The server only counts points: a change that leaves the count as it was shows some seconds later. */
  async revision(): Promise<string> {
    return `${await this.count()} ${Math.floor(Date.now() / revisionMs)}`;
  }

  async documents(): Promise<StoredDocument[]> {
    const with_payload = [documentField, "document_hash", "parts"];
    const pages = this.#connection.scroll(this.#name, { with_payload, limit: documentPage });
    return await tallied(pages);
  }

  async *passages(document?: string): AsyncGenerator<EmbeddedPassage> {
    const pages = this.#connection.scroll(this.#name, {
      ...(document !== undefined && { filter: ofDocument(document) }),
      with_payload: payloadFields,
      with_vector: [this.#shape.dense],
      limit: passagePage,
    });
    for await (const points of pages) {
      for (const point of points) {
        const passage = passageOf(point);
        const vector = vectorOf(point, this.#shape);
        if (passage && vector)
          yield { ...passage, vector: this.#isCosine ? vector : toUnitLength(vector) };
      }
    }
  }

  page: PassageRepository["page"] = async (document, { from, limit }) => {
    const { must } = ofDocument(document);
    // A foreign collection may have no positions; its passages are all at 0.
    const unplaced = from === 0 ? [{ is_empty: { key: "position" } }] : [];
    const range = { key: "position", range: { gte: from, lt: from + limit } };
    const filter = { must: [...must, { should: [range, ...unplaced] }] };
    const { points } = await this.#connection.read(async (client) =>
      withPoints(await client.scroll(this.#name, { filter, with_payload: payloadFields, limit })),
    );
    const passages = points.slice(0, limit).flatMap((point) => passageOf(point) ?? []);
    return passages.toSorted((a, b) => a.position - b.position);
  };

  async read(ids: readonly string[]): Promise<Passage[]> {
    if (ids.length === 0) return [];
    const asked = { ids: ids.map(pointId), with_payload: payloadFields };
    const { points } = await this.#connection.read(async (client) =>
      withPoints({ points: await client.retrieve(this.#name, asked) }),
    );
    return points.flatMap((point) => passageOf(point) ?? []);
  }

  async upsert(passages: readonly EmbeddedPassage[]): Promise<void> {
    for (const { id, vector } of passages) {
      this.#checkVector(vector);
      pointId(id);
    }
    for (const batch of batchesOf(passages)) {
      const points = batch.map((passage) => pointOf(passage, this.#shape));
      await this.#connection.change((client) => client.upsert(this.#name, { points, wait: true }));
    }
  }

  async delete(document: string, keep: ReadonlySet<string> = new Set()): Promise<number> {
    const filter = { ...ofDocument(document), must_not: [{ has_id: [...keep].map(pointId) }] };
    const found = await this.#countOf(filter);
    if (found > 0) {
      await this.#connection.change((client) => client.delete(this.#name, { filter, wait: true }));
    }
    return found;
  }

  search: PassageRepository["search"] = async (vector, { limit, scoreThreshold }, documents) => {
    this.#checkVector(vector);
    if (limit < 1 || isNothing(documents)) return [];
    const points = await this.#nearest(
      vector,
      { limit, with_payload: payloadFields, ...selecting(documents) },
      scoreThreshold,
    );
    return points.flatMap((point) => {
      const passage = passageOf(point);
      return passage ? [{ ...passage, score: point.score }] : [];
    });
  };

  matchWords: PassageRepository["matchWords"] = async (text, vector, limit, documents) => {
    this.#checkVector(vector);
    const terms = questionTerms(text);
    if (!this.matchesWords || terms.length === 0 || limit < 1 || isNothing(documents)) return [];
    const { points, full } = await this.#pointsWith(terms, limit, documents);
    if (points.length === 0) return [];
    const cosines = await this.#cosinesOf(points, vector);
    return points.flatMap((point) => {
      const passage = passageOf(point);
      const score = cosines.get(point.id);
      const words = shareOf(point.score, full);
      return passage && score !== undefined ? [{ ...passage, score, words }] : [];
    });
  };

  /** Nothing to close: Bun pools the connections, and closes idle ones. */
  async [Symbol.asyncDispose](): Promise<void> {}

  get #isCosine(): boolean {
    return this.#shape.distance === "cosine";
  }

  /** One round trip: the question, and each of its terms alone. */
  async #pointsWith(
    terms: readonly number[],
    limit: number,
    documents: DocumentSelection | undefined,
  ): Promise<{ points: ScoredPoint[]; full: number }> {
    const whole = {
      query: askFor(terms),
      using: wordsVector,
      limit,
      with_payload: payloadFields,
      ...selecting(documents),
    };
    const alone = terms.map((term) => ({ query: askFor([term]), using: wordsVector, limit: 1 }));
    const [[found, ...best], count] = await Promise.all([
      this.#connection.read(async (client) => {
        const results = await client.queryBatch(this.#name, { searches: [whole, ...alone] });
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
  ): Promise<Map<ScoredPoint["id"], number>> {
    const found = await this.#nearest(vector, {
      filter: { must: [{ has_id: points.map(({ id }) => id) }] },
      params: { exact: true },
      limit: points.length,
    });
    return new Map(found.map(({ id, score }) => [id, score]));
  }

  /** Points by the collection's own distance, scored and sorted by their cosine. */
  async #nearest(
    vector: Float32Array,
    request: Schemas["QueryRequest"],
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
    const { points } = await this.#connection.read(async (client) =>
      withScores(await client.query(this.#name, query)),
    );
    const scored = points.slice(0, request.limit ?? undefined).flatMap((point) => {
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
    return await this.#connection.read(async (client) =>
      countIn(await client.count(this.#name, { filter, exact })),
    );
  }

  #checkVector(vector: Float32Array): void {
    checkVector(vector, { name: this.#name, dimension: this.#shape.dimension });
  }
}

function selecting(documents: DocumentSelection | undefined): { filter?: Schemas["Filter"] } {
  if (documents === undefined) return {};
  const among = (names: ReadonlySet<string>) => [
    { key: documentField, match: { any: [...names] } },
  ];
  if ("only" in documents) return { filter: { must: among(documents.only) } };
  return documents.except.size === 0 ? {} : { filter: { must_not: among(documents.except) } };
}

const isNothing = (documents: DocumentSelection | undefined): boolean =>
  documents !== undefined && "only" in documents && documents.only.size === 0;

const ofDocument = (document: string) => ({
  must: [{ key: documentField, match: { value: document } }],
});

/** Counts the passages of each document from the payloads of points; points without a document are skipped. */
async function tallied(pages: AsyncIterable<Schemas["Record"][]>): Promise<StoredDocument[]> {
  const tallies = new Map<string, { passages: number; parts: number; hashes: Set<string> }>();
  for await (const points of pages) {
    for (const { payload } of points) {
      const name = textOr(payload?.document);
      if (name === "") continue;
      const tally = tallies.get(name) ?? { passages: 0, parts: 0, hashes: new Set() };
      tallies.set(name, tally);
      tally.passages += 1;
      tally.parts = Math.max(tally.parts, countOr(payload?.parts));
      tally.hashes.add(textOr(payload?.document_hash));
    }
  }
  return [...tallies]
    .map(([name, { passages, parts, hashes }]) => {
      const [hash = "", ...others] = hashes;
      const isKnown = hash !== "" && others.length === 0;
      return { name, ...(isKnown && { hash }), passages, parts };
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}
