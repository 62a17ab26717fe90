/** The collections of a Qdrant server, the node's own and those of others, for a thread. */
import { NodeError } from "../../core/errors.ts";
import type { CollectionSpec, StoredDocument } from "../../core/ports/passage-repository.ts";
import { wordForm } from "../split-words.ts";
import { callMethod, type MethodCall } from "../thread-calls.ts";
import { bytesOfPoints } from "./api.ts";
import { QdrantConnection, type QdrantOptions, unlessRefused } from "./connection.ts";
import {
  type CollectionShape,
  definitionOf,
  documentField,
  pointId,
  shapeOf,
  textOr,
  wordsVector,
  wordWeights,
} from "./points.ts";
import { QdrantPassages, type QdrantPlace } from "./qdrant-passages.ts";

/** Documents that cross to another thread at once. */
const sliceSize = 512;
/** Passages whose words are rebuilt at once. */
const rebuiltAtOnce = 256;

export class QdrantServer implements Disposable {
  readonly #connection: QdrantConnection;
  /** Lists that are being read, by number. */
  readonly #lists = new Map<number, StoredDocument[]>();
  #listed = 0;

  constructor(options: QdrantOptions) {
    this.#connection = new QdrantConnection(options);
  }

  async list(): Promise<string[]> {
    return await this.#connection.read(async (api) => {
      const { collections } = await api.collections();
      return collections.map(({ name }) => textOr(name)).sort();
    });
  }

  version(): Promise<string> {
    return this.#connection.read((api) => api.version());
  }

  /** Describes a collection as it is; undefined if there is none. */
  async inspect(name: string): Promise<CollectionShape | undefined> {
    const missing = 404;
    return await this.#connection.read(async (api) => {
      const found = await unlessRefused(missing, api.collection(name));
      return found && shapeOf(name, found);
    });
  }

  async open(name: string): Promise<CollectionShape | undefined> {
    const shape = await this.inspect(name);
    return shape && (await this.#finish(name, shape));
  }

  async create(name: string, spec: CollectionSpec): Promise<CollectionShape> {
    const shape = (await this.#make(name, spec)) ?? (await this.#make(name, spec));
    if (shape !== undefined) return await this.#finish(name, shape);
    throw new NodeError("unavailable", `The collection '${name}' is removed each time it is made.`);
  }

  async drop(name: string): Promise<void> {
    await this.#connection.change((api) => api.deleteCollection(name));
  }

  /** Calls a method of a collection's passages. */
  ask(place: QdrantPlace, call: MethodCall): unknown {
    return callMethod(new QdrantPassages(this.#connection, place), call);
  }

  /** Lists the documents of a collection; returns the number of the list, which is then read to its end. */
  async listDocuments(place: QdrantPlace): Promise<number> {
    const documents = await new QdrantPassages(this.#connection, place).documents();
    this.#listed += 1;
    this.#lists.set(this.#listed, documents);
    return this.#listed;
  }

  /** The next documents of a list; none at its end. */
  nextDocuments(list: number): StoredDocument[] {
    const next = this.#lists.get(list)?.splice(0, sliceSize) ?? [];
    if (next.length === 0) this.#lists.delete(list);
    return next;
  }

  [Symbol.dispose](): void {}

  /** Undefined if another client removed it right after it was created. */
  async #make(name: string, spec: CollectionSpec): Promise<CollectionShape | undefined> {
    const taken = 409;
    await this.#connection.change((api) =>
      unlessRefused(taken, api.createCollection(name, definitionOf(spec))),
    );
    return this.inspect(name);
  }

  /** Completes an interrupted creation and rebuilds words of an older version; a foreign collection is not changed. */
  async #finish(name: string, shape: CollectionShape): Promise<CollectionShape> {
    const { hasWords, hasDocumentIndex, hasCurrentWords } = shape;
    if (hasWords && !hasDocumentIndex) {
      const index = { field_name: documentField, field_schema: "keyword" } as const;
      await this.#connection.change((api) => api.createIndex(name, index));
    }
    if (hasWords && !hasCurrentWords) await this.#rebuildWords(name);
    return { ...shape, hasCurrentWords: hasWords };
  }

  /** The collection is marked as current only when all are done, so an interrupted rebuild begins again. */
  async #rebuildWords(name: string): Promise<void> {
    const request = { with_payload: ["source"], limit: rebuiltAtOnce };
    const mostBytes = bytesOfPoints(rebuiltAtOnce);
    for (let from: string | null = null; ; ) {
      const page = await this.#connection.page(name, request, { from, mostBytes });
      const points = page.points.map(({ id, payload }) => ({
        id: pointId(String(id)),
        vector: { [wordsVector]: wordWeights(textOr(payload?.source)) },
      }));
      if (points.length > 0) {
        await this.#connection.change((api) => api.updateVectors(name, { points }));
      }
      if (page.next === null) break;
      from = page.next;
    }
    await this.#connection.change((api) =>
      api.updateCollection(name, { metadata: { [wordsVector]: wordForm } }),
    );
  }
}
