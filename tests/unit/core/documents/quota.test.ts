import { expect, test } from "bun:test";
import { Quota } from "../../../../src/core/documents/quota.ts";
import type { DocumentRegistry } from "../../../../src/core/ports/document-registry.ts";
import { sqliteDocuments } from "../../../../src/store/documents/sqlite-documents.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const unbounded = { bytes: 0, files: 0, passages: 0 };
const caller = { called: "This key" };

test("passages that are recorded while the next file's are counted leave no room twice", async () => {
  await using folder = await tempDir();
  await using registry = sqliteDocuments(`${folder.path}/documents.sqlite`);
  let recorded = 0;
  let meanwhile = (): void => {};
  const counting: DocumentRegistry = Object.create(registry, {
    passagesOf: {
      value: async () => {
        const read = recorded;
        meanwhile();
        return read;
      },
    },
  });
  const settings = { node: { ...unbounded, passages: 10 }, caller: unbounded };
  const quota = new Quota(counting, settings);
  const first = quota.ingest(caller);
  await first.plan(8);
  using second = quota.ingest(caller);
  meanwhile = () => {
    meanwhile = () => {};
    recorded = 8;
    first[Symbol.dispose]();
  };
  await expect(second.plan(8)).rejects.toThrow("10 passages");
});
