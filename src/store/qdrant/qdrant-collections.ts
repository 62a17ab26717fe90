/** The collections of a Qdrant server: the node's own, and those of others. */
import { NodeError } from "../../core/errors.ts";
import type {
  CollectionDescription,
  CollectionSpec,
  CollectionStore,
  PassageRepository,
} from "../../core/ports/passage-repository.ts";
import { wordForm } from "../split-words.ts";
import { QdrantConnection, type QdrantOptions, unlessRefused } from "./connection.ts";
import {
  type CollectionShape,
  definitionOf,
  documentField,
  shapeOf,
  textOr,
  wordsVector,
  wordWeights,
} from "./points.ts";
import { QdrantRepository } from "./qdrant-repository.ts";

export class QdrantCollectionStore implements CollectionStore {
  readonly #connection: QdrantConnection;

  constructor(options: QdrantOptions) {
    this.#connection = new QdrantConnection(options);
  }

  async list(): Promise<string[]> {
    return await this.#connection.read(async (client) => {
      const { collections } = await client.getCollections();
      return collections.map(({ name }) => name).sort();
    });
  }

  async open(name: string): Promise<PassageRepository | undefined> {
    const shape = await this.#shapeOf(name);
    if (shape === undefined) return undefined;
    return this.#finish(name, shape);
  }

  /** Inspects a collection without completing or changing it; undefined if there is none. */
  async inspect(
    name: string,
  ): Promise<{ description: CollectionDescription; passages: number } | undefined> {
    const shape = await this.#shapeOf(name);
    if (shape === undefined) return undefined;
    const repository = new QdrantRepository(this.#connection, name, shape);
    return { description: await repository.describe(), passages: await repository.count() };
  }

  async version(): Promise<string> {
    return (await this.#connection.read((client) => client.versionInfo())).version;
  }

  async create(name: string, spec: CollectionSpec): Promise<PassageRepository> {
    const shape = (await this.#make(name, spec)) ?? (await this.#make(name, spec));
    if (shape !== undefined) return this.#finish(name, shape);
    throw new NodeError("unavailable", `The collection '${name}' is removed each time it is made.`);
  }

  async drop(name: string): Promise<void> {
    await this.#connection.change((client) => client.deleteCollection(name));
  }

  /** Undefined if another client removed it right after it was created. */
  async #make(name: string, spec: CollectionSpec): Promise<CollectionShape | undefined> {
    const taken = 409;
    await this.#connection.change((client) =>
      unlessRefused(taken, client.createCollection(name, definitionOf(spec))),
    );
    return this.#shapeOf(name);
  }

  async #shapeOf(name: string): Promise<CollectionShape | undefined> {
    const missing = 404;
    return await this.#connection.read(async (client) => {
      const found = await unlessRefused(missing, client.getCollection(name));
      return found && shapeOf(name, found);
    });
  }

  /** Completes an interrupted creation and rebuilds words of an older version; a foreign collection is not changed. */
  async #finish(name: string, shape: CollectionShape): Promise<PassageRepository> {
    const { hasWords, hasDocumentIndex, hasCurrentWords } = shape;
    if (hasWords && !hasDocumentIndex) {
      const index = { field_name: documentField, field_schema: "keyword", wait: true } as const;
      await this.#connection.change((client) => client.createPayloadIndex(name, index));
    }
    if (hasWords && !hasCurrentWords) await rebuildWords(this.#connection, name);
    const finished = { ...shape, hasCurrentWords: hasWords };
    return new QdrantRepository(this.#connection, name, finished);
  }
}

const page = 256;

/** The collection is marked as current only when all are done, so an interrupted rebuild begins again. */
async function rebuildWords(connection: QdrantConnection, name: string): Promise<void> {
  for await (const found of connection.scroll(name, { with_payload: ["source"], limit: page })) {
    const points = found.map(({ id, payload }) => ({
      id,
      vector: { [wordsVector]: wordWeights(textOr(payload?.source)) },
    }));
    if (points.length > 0) {
      await connection.change((client) => client.updateVectors(name, { points, wait: true }));
    }
  }
  await connection.change((client) =>
    client.updateCollection(name, { metadata: { [wordsVector]: wordForm } }),
  );
}
