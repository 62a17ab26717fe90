/** The services for documents, on a real registry and real files in a folder. */
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FileService } from "../../src/core/documents/file-service.ts";
import { Quota, type QuotaSettings } from "../../src/core/documents/quota.ts";
import { mediaTypeOf } from "../../src/ingest/media-type.ts";
import { SqliteDocuments } from "../../src/store/documents/sqlite-documents.ts";
import { DiskFiles } from "../../src/store/files/disk-files.ts";

export interface TestDocumentOptions {
  /** Where they are; default: a folder that comes into being with the first of them. */
  folder?: string;
  quota?: QuotaSettings;
  now?: () => Date;
}

const unbounded = { bytes: 0, passages: 0 };

export function testDocuments({
  folder = join(tmpdir(), `paddock-test-${crypto.randomUUID()}`),
  quota = { node: unbounded, caller: unbounded },
  now = () => new Date(),
}: TestDocumentOptions = {}) {
  const registry = new SqliteDocuments(join(folder, "documents.sqlite"));
  const files = new FileService({
    registry,
    files: new DiskFiles(join(folder, "files")),
    quota: new Quota(registry, quota),
    detectType: mediaTypeOf,
    now,
    checkOwned: () => {},
    removePassages: async () => {},
  });
  return { registry, files };
}
