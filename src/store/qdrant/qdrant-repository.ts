/** Passages in a collection of a Qdrant server, which its thread asks. */
import { given } from "../../core/given.ts";
import type {
  CollectionDescription,
  DocumentSelection,
  EmbeddedPassage,
  Passage,
  PassageRepository,
  StoredDocument,
} from "../../core/ports/passage-repository.ts";
import { checkVector } from "../../core/retrieval/collection.ts";
import { namesOf } from "../document-names.ts";
import type { Remote } from "../thread-calls.ts";
import type { QdrantPassages, QdrantPlace } from "./qdrant-passages.ts";
import type { QdrantServer } from "./qdrant-server.ts";

const revisionMs = 10_000;

export class QdrantRepository implements PassageRepository {
  readonly matchesWords: boolean;
  readonly #server: Remote<QdrantServer>;
  readonly #passages: Omit<Remote<QdrantPassages>, typeof Symbol.asyncDispose>;
  readonly #place: QdrantPlace;
  readonly #url: string;

  constructor(server: Remote<QdrantServer>, place: QdrantPlace, url: string) {
    this.#server = server;
    this.#place = place;
    this.#url = url;
    this.#passages = new Proxy(Object.create(null), {
      get: (_, method) => {
        return (...args: unknown[]) => server.ask(place, { method: String(method), args });
      },
    });
    this.matchesWords = place.shape.hasCurrentWords;
  }

  async describe(): Promise<CollectionDescription> {
    const { name, shape } = this.#place;
    const { dimension, distance, embedding } = shape;
    return { name, dimension, distance, url: this.#url, ...given({ embedding }) };
  }

  count(): Promise<number> {
    return this.#passages.count();
  }

  /** The server only counts points: a change that leaves the count as it was shows some seconds later. */
  async revision(): Promise<string> {
    return `${await this.count()} ${Math.floor(Date.now() / revisionMs)}`;
  }

  async documents(): Promise<StoredDocument[]> {
    const list = await this.#server.listDocuments(this.#place);
    const documents: StoredDocument[] = [];
    for (;;) {
      const next = await this.#server.nextDocuments(list);
      if (next.length === 0) return documents;
      documents.push(...next);
    }
  }

  async *passages(document?: string): AsyncGenerator<EmbeddedPassage> {
    const { dimension } = this.#place.shape;
    for (let from: string | null = null; ; ) {
      const { passages, vectors, next } = await this.#passages.passagesFrom(from, document);
      for (const [at, passage] of passages.entries()) {
        yield { ...passage, vector: vectors.slice(at * dimension, (at + 1) * dimension) };
      }
      if (next === null) return;
      from = next;
    }
  }

  page(document: string, range: { from: number; limit: number }): Promise<Passage[]> {
    return this.#passages.page(document, range);
  }

  read(ids: readonly string[]): Promise<Passage[]> {
    return this.#passages.read(ids);
  }

  async upsert(passages: readonly EmbeddedPassage[]): Promise<void> {
    for (const { vector } of passages) this.#checkVector(vector);
    const { dimension } = this.#place.shape;
    // A vector may be a view, whose whole buffer would be sent.
    const vectors = new Float32Array(passages.length * dimension);
    for (const [at, { vector }] of passages.entries()) vectors.set(vector, at * dimension);
    await this.#passages.upsert(
      passages.map(({ vector, ...passage }) => passage),
      vectors,
    );
  }

  delete(document: string, keep: ReadonlySet<string> = new Set()): Promise<number> {
    return this.#passages.delete(document, keep);
  }

  search: PassageRepository["search"] = async (vector, bounds, documents) => {
    this.#checkVector(vector);
    if (bounds.limit < 1 || isNothing(documents)) return [];
    return await this.#passages.search(vector.slice(), bounds, namesOf(documents));
  };

  matchWords: PassageRepository["matchWords"] = async (text, vector, limit, documents) => {
    this.#checkVector(vector);
    if (!this.matchesWords || limit < 1 || isNothing(documents)) return [];
    return await this.#passages.matchWords(text, vector.slice(), limit, namesOf(documents));
  };

  /** Nothing to close: the thread is its server's. */
  async [Symbol.asyncDispose](): Promise<void> {}

  #checkVector(vector: Float32Array): void {
    checkVector(vector, { name: this.#place.name, dimension: this.#place.shape.dimension });
  }
}

const isNothing = (documents: DocumentSelection | undefined): boolean =>
  documents !== undefined && "only" in documents && documents.only.size === 0;
