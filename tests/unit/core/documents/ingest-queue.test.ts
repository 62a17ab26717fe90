import { expect, spyOn, test } from "bun:test";
import { IngestQueue } from "../../../../src/core/documents/ingest-queue.ts";
import type { StoreFile } from "../../../../src/core/documents/records.ts";
import { NodeError } from "../../../../src/core/errors.ts";
import { sqliteDocuments } from "../../../../src/store/documents/sqlite-documents.ts";
import { recordingLog } from "../../../support/recording-log.ts";
import { tempDir } from "../../../support/temp-dir.ts";
import { waitFor } from "../../../support/wait-for.ts";

const file = (name: string): StoreFile => ({
  ...{ store: `vs_${name}`, file: `file-${name}`, filename: `${name}.md`, document: `${name}.md` },
  ...{ isUploaded: true, attributes: {}, status: "in_progress", usageBytes: 0, passages: 0 },
  createdAt: new Date(),
});

const names = ["a", "b", "c"];

test("what a file waited for is forgotten with the file, or with its store", async () => {
  await using folder = await tempDir();
  await using registry = sqliteDocuments(`${folder.path}/documents.sqlite`);
  await registry.putStoreFiles(names.map(file));
  const { log } = recordingLog();
  const queue = new IngestQueue({
    ...{ registry, log },
    ingest: async () => {
      throw new NodeError("unavailable", "the store is away");
    },
    discard: async () => {},
    cleanUp: async () => {},
    isOwned: () => true,
  });
  const stop = new AbortController();
  const running = queue.run(stop.signal);
  const waits = () => names.map((name) => queue.waitsFor(file(name)) !== undefined);
  await waitFor("all to wait", () => waits().every(Boolean));
  stop.abort();
  await running;
  using _one = await queue.hold("vs_a", "file-a");
  expect(waits()).toEqual([false, true, true]);
  using _everywhere = await queue.hold("", "file-b");
  expect(waits()).toEqual([false, false, true]);
  using _all = await queue.hold("vs_c");
  expect(waits()).toEqual([false, false, false]);
});

test("a file whose rest ends while the next one is looked for is not left for longer", async () => {
  await using folder = await tempDir();
  await using registry = sqliteDocuments(`${folder.path}/documents.sqlite`);
  await registry.putStoreFiles([file("a")]);
  let now = 0;
  using _clock = spyOn(performance, "now").mockImplementation(() => now);
  let looks = 0;
  const slow: typeof registry = Object.create(registry, {
    waitingOwners: {
      value: async () => {
        // The first look after it failed may be woken by that.
        if (queue.waitsFor(file("a")) !== undefined && ++looks === 2) now = 2000;
        return await registry.waitingOwners();
      },
    },
  });
  const start = globalThis.setTimeout;
  const slept: number[] = [];
  using _timers = spyOn(globalThis, "setTimeout").mockImplementation(
    Object.assign((run: () => void, ms = 0) => {
      slept.push(ms);
      return start(run, Math.min(ms, 1));
    }, start),
  );
  let tries = 0;
  const stop = new AbortController();
  const queue = new IngestQueue({
    ...{ registry: slow, log: recordingLog().log },
    ingest: async () => {
      if (++tries === 2) stop.abort();
      throw new NodeError("unavailable", "the store is away");
    },
    discard: async () => {},
    cleanUp: async () => {},
    isOwned: () => true,
  });
  await queue.run(stop.signal);
  expect(Math.max(...slept)).toBe(1000);
});
