/** The files of a vector store, among them the documents that did not come over HTTP. */
import type { DocumentRegistry } from "../ports/document-registry.ts";
import type { PassageRepository, StoredDocument } from "../ports/passage-repository.ts";
import { fileIdOf, shownName } from "./document-name.ts";
import type { StoreFile, StoreRecord } from "./records.ts";

export interface CatalogueParts {
  registry: DocumentRegistry;
  now: () => Date;
}

export class Catalogue {
  readonly #parts: CatalogueParts;
  /** How each collection was when its documents were last looked through. */
  readonly #seen = new Map<string, string>();

  constructor(parts: CatalogueParts) {
    this.#parts = parts;
  }

  /** Makes files of the documents that others put into the collection; a store made over HTTP has none. */
  async update(store: StoreRecord, repository: PassageRepository | undefined): Promise<void> {
    if (store.isOwn) return;
    const { registry } = this.#parts;
    if (repository === undefined) {
      await registry.storeFiles.reconcile(store.id, []);
      return;
    }
    const revision = await repository.revision();
    if (this.#seen.get(store.id) === revision) return;
    const documents = await repository.documents();
    const hidden = await registry.storeFiles.hidden(store.collection);
    const found = documents
      .filter(({ name }) => !hidden.has(name))
      .map((document) => this.#toFile(store, document));
    await registry.storeFiles.reconcile(store.id, found);
    this.#seen.set(store.id, revision);
  }

  #toFile(store: StoreRecord, { name, passages }: StoredDocument): StoreFile {
    return {
      store: store.id,
      file: fileIdOf(store.collection, name),
      filename: shownName(name),
      document: name,
      attributes: {},
      isUploaded: false,
      status: "completed",
      usageBytes: 0,
      passages,
      createdAt: this.#parts.now(),
    };
  }
}
