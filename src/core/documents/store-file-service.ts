/** Files in vector stores, alone and in batches: adds, lists, reads, changes and removes them. */
import { NodeError } from "../errors.ts";
import { given } from "../given.ts";
import type { Page, PageRequest } from "../page.ts";
import { type DocumentCaller, noSuch } from "./document-caller.ts";
import type { SharedParts } from "./documents.ts";
import type { FileService } from "./file-service.ts";
import {
  type Attributes,
  type Chunking,
  checkChunking,
  documentOf,
  type FileBatch,
  type FileCounts,
  type FileRecord,
  type FileStatus,
  newId,
  type StoreFile,
  type StoreRecord,
} from "./records.ts";

export interface AddedFile {
  file: string;
  attributes?: Attributes;
  chunking?: Chunking;
  /** The request's fields for the file and its chunking, for errors. */
  field: string;
  chunkingField: string;
}

export interface FileText {
  position: number;
  heading: string;
  text: string;
}

export interface BatchView {
  batch: FileBatch;
  counts: FileCounts;
  status: FileStatus;
}

export class StoreFileService {
  readonly #parts: SharedParts;
  readonly #files: FileService;

  constructor(parts: SharedParts, files: FileService) {
    this.#parts = parts;
    this.#files = files;
  }

  /** Throws for files that cannot be added to a new store, before anything is changed. */
  async check(caller: DocumentCaller, added: readonly AddedFile[]): Promise<void> {
    if (added.length === 0) return;
    await this.#find(caller, added);
    const { registry } = this.#parts;
    const { maxQueue, maxOwn } = this.#places(caller);
    const isFull = (await registry.queued()) + added.length > maxQueue;
    const own = caller.id === undefined ? 0 : await registry.queued(caller.id);
    if (isFull || own + added.length > maxOwn) throw await this.#full(caller);
  }

  /** Queues files to be ingested; one that is already in the store with the same settings only gets the new attributes. */
  async add(
    caller: DocumentCaller,
    store: StoreRecord,
    added: readonly AddedFile[],
    batch?: FileBatch,
  ): Promise<StoreFile[]> {
    const { registry, access, model, usualChunking, queue } = this.#parts;
    const files = await this.#find(caller, added);
    const usual = usualChunking(model());
    const wanted = new Map(added.map((file) => [file.file, file]));
    const known = await registry.inStore(store.id, [...wanted.keys()]);
    const before = new Map(known.map((file) => [file.file, file]));
    const put = [...new Map(files.map((file) => [file.id, file])).values()].map((file) =>
      this.#toStoreFile(caller, store, file, usual, wanted.get(file.id), before.get(file.id)),
    );
    const isUnchanged = ({ file, status, chunking }: StoreFile): boolean => {
      const known = before.get(file);
      return known?.status === status && Bun.deepEquals(known.chunking, chunking);
    };
    using held = new DisposableStack();
    // A file that is being ingested with other settings must not count as this one.
    for (const each of put) {
      if (!isUnchanged(each)) held.use(await queue.hold(store.id, each.file));
    }
    const unchanged = put.filter(isUnchanged);
    const options = { ...this.#places(caller), unchanged, ...given({ batch, owner: caller.id }) };
    // Those that are not given may be changed meanwhile.
    const written = put.map(({ attributes: _, ...file }) => ({
      ...file,
      ...given({ attributes: wanted.get(file.file)?.attributes }),
    }));
    const outcome = await registry.putStoreFiles(written, options);
    if (outcome === "full") throw await this.#full(caller);
    // A file was deleted, removed, completed or added with other settings since it was checked, or its store is gone.
    if (outcome === "changed") {
      return await this.add(caller, await access.use(caller, store.id), added, batch);
    }
    queue.wake();
    return put;
  }

  async list(
    caller: DocumentCaller,
    storeId: string,
    page: PageRequest,
    { status, batch }: { status?: FileStatus; batch?: string } = {},
  ): Promise<Page<StoreFile>> {
    const { registry, access, adoptFiles } = this.#parts;
    const store = await access.get(caller, storeId);
    await adoptFiles(store);
    const of = { store: store.id, ...given({ status, batch }) };
    const { items, hasMore } = await registry.storeFiles(of, page);
    return { items: items.map((file) => this.#withWait(file)), hasMore };
  }

  async get(caller: DocumentCaller, storeId: string, file: string): Promise<StoreFile> {
    const { registry, access, adoptFiles } = this.#parts;
    const store = await access.get(caller, storeId);
    const [known] = await registry.inStore(store.id, [file]);
    if (known !== undefined) return this.#withWait(known);
    await adoptFiles(store);
    const [found] = await registry.inStore(store.id, [file]);
    if (found === undefined)
      throw noSuch(`file in the vector store '${store.id}'`, file, "file_id");
    return found;
  }

  async changeAttributes(
    caller: DocumentCaller,
    storeId: string,
    file: string,
    attributes: Attributes,
  ): Promise<StoreFile> {
    const { registry, access, ownership } = this.#parts;
    ownership.check();
    const { id } = await access.use(caller, storeId);
    const found = await this.get(caller, id, file);
    await registry.changeAttributes(id, file, attributes);
    return { ...found, attributes };
  }

  async content(
    caller: DocumentCaller,
    storeId: string,
    file: string,
    { from, limit }: { from: number; limit: number },
  ): Promise<{ texts: FileText[]; hasMore: boolean }> {
    const { access, collections } = this.#parts;
    const { collection } = await access.get(caller, storeId);
    const { document, status } = await this.get(caller, storeId, file);
    if (status !== "completed") return { texts: [], hasMore: false };
    using lease = await collections.lease(collection);
    if (lease === undefined) return { texts: [], hasMore: false };
    const found = await lease.repository.page(document, { from, limit: limit + 1 });
    const texts = found.slice(0, limit);
    return {
      texts: texts.map(({ position, heading, source: text }) => ({ position, heading, text })),
      hasMore: found.length > limit,
    };
  }

  /** Once it returns, searches of the store no longer find the file. */
  async remove(caller: DocumentCaller, storeId: string, file: string): Promise<void> {
    const { registry, access, remover, queue, ownership } = this.#parts;
    ownership.check();
    const { id, collection } = await access.use(caller, storeId);
    const { document } = await this.get(caller, id, file);
    await registry.removeStoreFile(id, file);
    using _ = await queue.hold(id, file);
    await remover.tryRemove({ collection, document });
  }

  /** Deletes the passages of a file that is no longer in any vector store. */
  async removeEverywhere(file: string): Promise<void> {
    const { registry, remover, queue } = this.#parts;
    using _ = await queue.hold("", file);
    const removals = await registry.removals();
    const own = removals.filter(({ document }) => document?.startsWith(`${file}/`));
    for (const removal of own) await remover.tryRemove(removal);
  }

  async addBatch(
    caller: DocumentCaller,
    storeId: string,
    added: readonly AddedFile[],
  ): Promise<BatchView> {
    const { access, now } = this.#parts;
    const store = await access.use(caller, storeId);
    const batch = { id: newId("vsfb_"), store: store.id, createdAt: now(), isCancelled: false };
    await this.add(caller, store, added, batch);
    return await this.#view(batch);
  }

  async batch(caller: DocumentCaller, storeId: string, id: string): Promise<BatchView> {
    return await this.#view(await this.#batch(caller, storeId, id));
  }

  /** Files that are not ingested yet are left out of the store. */
  async cancelBatch(caller: DocumentCaller, storeId: string, id: string): Promise<BatchView> {
    const { registry, access, remover, queue, ownership } = this.#parts;
    ownership.check();
    await access.use(caller, storeId);
    const batch = await this.#batch(caller, storeId, id);
    if ((await this.#view(batch)).status !== "in_progress") {
      const why = `The batch '${id}' is not in progress any more; there is nothing to cancel.`;
      throw new NodeError("invalid_request", why, { param: "batch_id" });
    }
    const collection = (await registry.store(batch.store))?.collection ?? batch.store;
    const begun = await registry.cancelBatch(id);
    using held = new DisposableStack();
    // All at once, or one that is still being ingested would store passages after they were removed.
    const holds = begun.map(({ file }) => queue.hold(batch.store, file));
    for (const hold of await Promise.all(holds)) held.use(hold);
    for (const { document } of begun) await remover.tryRemove({ collection, document });
    return await this.#view({ ...batch, isCancelled: true });
  }

  async batchFiles(
    caller: DocumentCaller,
    storeId: string,
    id: string,
    page: PageRequest,
    status?: FileStatus,
  ): Promise<Page<StoreFile>> {
    const batch = await this.#batch(caller, storeId, id);
    return await this.list(caller, batch.store, page, { batch: id, ...given({ status }) });
  }

  async #batch(caller: DocumentCaller, storeId: string, id: string): Promise<FileBatch> {
    const { registry, access } = this.#parts;
    const store = await access.get(caller, storeId);
    const batch = await registry.batch(store.id, id);
    if (batch === undefined)
      throw noSuch(`batch of the vector store '${store.id}'`, id, "batch_id");
    return batch;
  }

  async #view(batch: FileBatch): Promise<BatchView> {
    const { id, store } = batch;
    const counts = await this.#parts.registry.counts({ store, batch: id });
    return { batch, counts, status: statusOf(batch, counts) };
  }

  #toStoreFile(
    caller: DocumentCaller,
    store: StoreRecord,
    { id: file, filename, bytes }: FileRecord,
    usual: Chunking,
    added?: AddedFile,
    before?: StoreFile,
  ): StoreFile {
    const { attributes = before?.attributes ?? {}, chunking = usual } = added ?? {};
    const isSettled = before?.status === "completed" || before?.status === "in_progress";
    if (before !== undefined && isSettled && Bun.deepEquals(before.chunking, chunking)) {
      return { ...before, attributes };
    }
    return {
      ...{ store: store.id, file, filename, bytes, document: documentOf(file, filename) },
      ...{ attributes, status: "in_progress", isUploaded: true, usageBytes: 0, passages: 0 },
      createdAt: this.#parts.now(),
      chunking,
      ...given({ owner: caller.id }),
    };
  }

  #withWait(file: StoreFile): StoreFile {
    if (file.status !== "in_progress") return file;
    return { ...file, ...given({ failure: this.#parts.queue.waitsFor(file) }) };
  }

  async #find(caller: DocumentCaller, added: readonly AddedFile[]): Promise<FileRecord[]> {
    const { model, ownership } = this.#parts;
    ownership.check();
    const { name, maxTokens } = model();
    const found = await this.#files.find(caller, added);
    for (const { chunking, chunkingField } of added) {
      if (chunking !== undefined) checkChunking(chunking, { name, maxTokens }, chunkingField);
    }
    return found;
  }

  /** A key may take half of the queue. Without keys, all callers are one. */
  #places({ id }: DocumentCaller): { maxQueue: number; maxOwn: number } {
    const { maxQueue } = this.#parts.limits;
    return { maxQueue, maxOwn: id === undefined ? maxQueue : Math.ceil(maxQueue / 2) };
  }

  async #full({ id }: DocumentCaller): Promise<NodeError> {
    const { registry, limits } = this.#parts;
    const own = id === undefined ? "" : `, ${await registry.queued(id)} of them of this key`;
    return new NodeError(
      "overloaded",
      `${await registry.queued()} files wait to be ingested${own}, and at most ${limits.maxQueue} may (documents.max_queue), half of them of one key. The batches in progress of one vector store, its newest hundred left out, may have as many. Add these later, or fewer at once.`,
    );
  }
}

/** A batch has failed if all of its files have; if only some have, the counts show it. */
function statusOf({ isCancelled }: FileBatch, counts: FileCounts): FileStatus {
  if (counts.in_progress > 0) return "in_progress";
  if (isCancelled) return "cancelled";
  return counts.failed > 0 && counts.completed === 0 ? "failed" : "completed";
}
