/** Documents over HTTP: the registry and the files of a data dir, and the services on them. */
import { join } from "node:path";
import { FileService } from "../core/documents/file-service.ts";
import { Quota } from "../core/documents/quota.ts";
import { mediaTypeOf } from "../ingest/media-type.ts";
import { documentsLock, Ownership } from "../store/documents/ownership.ts";
import { documentsFile, SqliteDocuments } from "../store/documents/sqlite-documents.ts";
import { DiskFiles } from "../store/files/disk-files.ts";
import { dataDirOf } from "./data-dir.ts";
import { toQuota } from "./node-settings.ts";
import type { StoreOptions } from "./part-options.ts";

export class NodeDocuments implements Disposable {
  readonly files: FileService;
  readonly #resources = new DisposableStack();

  /** Nothing is read or written before it is asked for. */
  constructor({ config, baseDir }: StoreOptions) {
    const folder = dataDirOf(config, baseDir);
    const registry = this.#resources.use(new SqliteDocuments(join(folder, documentsFile)));
    const ownership = this.#resources.use(new Ownership(join(folder, documentsLock)));
    this.files = new FileService({
      registry,
      files: new DiskFiles(join(folder, "files")),
      quota: new Quota(registry, toQuota(config)),
      detectType: mediaTypeOf,
      now: () => new Date(),
      checkOwned: () => ownership.check(),
      removePassages: async () => {},
    });
  }

  [Symbol.dispose](): void {
    this.#resources.dispose();
  }
}
