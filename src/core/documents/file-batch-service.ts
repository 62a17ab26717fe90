/** File batches: files that are added to a vector store together, and can be cancelled together. */
import { NodeError } from "../errors.ts";
import { given } from "../given.ts";
import type { Page, PageRequest } from "../page.ts";
import { type DocumentCaller, noSuch } from "./document-caller.ts";
import type { SharedParts } from "./documents.ts";
import {
  type FileBatch,
  type FileCounts,
  type FileStatus,
  newId,
  type StoreFile,
} from "./records.ts";
import type { AddedFile, StoreFileService } from "./store-file-service.ts";

export interface BatchView {
  batch: FileBatch;
  counts: FileCounts;
  status: FileStatus;
}

export class FileBatchService {
  readonly #parts: SharedParts;
  readonly #storeFiles: StoreFileService;

  constructor(parts: SharedParts, storeFiles: StoreFileService) {
    this.#parts = parts;
    this.#storeFiles = storeFiles;
  }

  async create(
    caller: DocumentCaller,
    storeId: string,
    added: readonly AddedFile[],
  ): Promise<BatchView> {
    const { access, now } = this.#parts;
    const store = await access.use(caller, storeId);
    const batch = { id: newId("vsfb_"), store: store.id, createdAt: now(), isCancelled: false };
    await this.#storeFiles.add(caller, store, added, batch);
    return await this.#view(batch);
  }

  async get(caller: DocumentCaller, storeId: string, id: string): Promise<BatchView> {
    return await this.#view(await this.#batch(caller, storeId, id));
  }

  /** Files that are not ingested yet are left out of the store. */
  async cancel(caller: DocumentCaller, storeId: string, id: string): Promise<BatchView> {
    const { registry, access, remover, hold, ownership } = this.#parts;
    ownership.check();
    await access.use(caller, storeId);
    const batch = await this.#batch(caller, storeId, id);
    if ((await this.#view(batch)).status !== "in_progress") {
      throw new NodeError(
        "invalid_request",
        `The batch '${id}' is not in progress any more; there is nothing to cancel.`,
        { param: "batch_id" },
      );
    }
    const collection = (await registry.stores.store(batch.store))?.collection ?? batch.store;
    for (const { file, document } of await registry.storeFiles.cancelBatch(id)) {
      using _ = await hold(batch.store, file);
      await remover.tryRemove({ collection, document });
    }
    return await this.#view({ ...batch, isCancelled: true });
  }

  async files(
    caller: DocumentCaller,
    storeId: string,
    id: string,
    page: PageRequest,
    status?: FileStatus,
  ): Promise<Page<StoreFile>> {
    const batch = await this.#batch(caller, storeId, id);
    return await this.#storeFiles.list(caller, batch.store, page, {
      batch: id,
      ...given({ status }),
    });
  }

  async #batch(caller: DocumentCaller, storeId: string, id: string): Promise<FileBatch> {
    const { registry, access } = this.#parts;
    const store = await access.get(caller, storeId);
    const batch = await registry.storeFiles.batch(store.id, id);
    if (batch === undefined)
      throw noSuch(`batch of the vector store '${store.id}'`, id, "batch_id");
    return batch;
  }

  async #view(batch: FileBatch): Promise<BatchView> {
    const { id, store } = batch;
    const counts = await this.#parts.registry.storeFiles.counts({ store, batch: id });
    return { batch, counts, status: statusOf(batch, counts) };
  }
}

/** A batch has failed if all of its files have; if only some have, the counts show it. */
function statusOf({ isCancelled }: FileBatch, counts: FileCounts): FileStatus {
  if (counts.in_progress > 0) return "in_progress";
  if (isCancelled) return "cancelled";
  return counts.failed > 0 && counts.completed === 0 ? "failed" : "completed";
}
