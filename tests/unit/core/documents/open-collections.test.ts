import { describe, expect, test } from "bun:test";
import {
  adoptFilesWith,
  OpenCollections,
} from "../../../../src/core/documents/open-collections.ts";
import type { CollectionStore } from "../../../../src/core/ports/passage-repository.ts";
import { sqliteDocuments } from "../../../../src/store/documents/sqlite-documents.ts";
import { watchLoop } from "../../../support/loop-watch.ts";
import { rejectionOf } from "../../../support/rejection.ts";
import { silentLog } from "../../../support/silence.ts";
import { tempDir } from "../../../support/temp-dir.ts";
import { specOf } from "../../../support/test-models.ts";
import { unusedRepository } from "../../../support/unused-repository.ts";

/** A store that says what is open, and of which model its collections are. */
function recordingStore(there: string[], fingerprint = "weights") {
  const open = new Set<string>();
  const opened: string[] = [];
  const spec = specOf(2);
  const fault: { describe?: Error } = {};
  const store: CollectionStore = {
    list: async () => there,
    isMissing: async () => false,
    create: async (name) => {
      there.push(name);
      return repositoryOf(name);
    },
    open: async (name) => (there.includes(name) ? repositoryOf(name) : undefined),
    drop: async (name) => void there.splice(there.indexOf(name), 1),
  };
  const repositoryOf = (name: string) => {
    open.add(name);
    opened.push(name);
    return {
      ...unusedRepository,
      describe: async () => {
        if (fault.describe !== undefined) throw fault.describe;
        const embedding = { ...spec.embedding, fingerprint };
        return { name, dimension: 2, distance: "cosine", url: "embedded", embedding };
      },
      [Symbol.asyncDispose]: async () => void open.delete(name),
    };
  };
  const collections = new OpenCollections({ store, spec: () => spec, log: silentLog });
  return { store, collections, open, opened, there, fault };
}

describe("open collections", () => {
  test("are opened once for all who use them, and not at all where there are none", async () => {
    const { collections, opened } = recordingStore(["a"]);
    {
      using first = await collections.lease("a");
      using second = await collections.lease("a");
      expect([first?.repository === second?.repository, opened]).toEqual([true, ["a"]]);
      expect(await collections.lease("none")).toBeUndefined();
    }
    await collections[Symbol.asyncDispose]();
  });

  test("are made where they are to be filled", async () => {
    const { collections, there } = recordingStore([]);
    expect(await collections.lease("new")).toBeUndefined();
    using lease = await collections.leaseOrCreate("new");
    expect([lease.repository !== undefined, there]).toEqual([true, ["new"]]);
  });

  test("are closed where they cannot be described", async () => {
    const { collections, open, fault } = recordingStore(["a"]);
    fault.describe = new Error("no answer");
    expect(await rejectionOf(collections.lease("a"))).toBe(fault.describe);
    expect([...open]).toEqual([]);
  });

  test("are closed when many others are used, and never while they are", async () => {
    const names = Array.from({ length: 40 }, (_, at) => `c${at}`);
    const { collections, open } = recordingStore(names);
    using _held = await collections.lease("c0");
    for (const name of names.slice(1)) (await collections.lease(name))?.[Symbol.dispose]();
    await Bun.sleep(0);
    expect(open.size).toBeLessThanOrEqual(17);
    expect(open.has("c0")).toBe(true);
    expect(open.has("c39")).toBe(true);
  });

  test("are dropped once nobody uses them any more", async () => {
    const { collections, open, there } = recordingStore(["a"]);
    const lease = await collections.lease("a");
    const dropping = collections.drop("a", { forGood: true });
    await Bun.sleep(0);
    expect([there, open.has("a")]).toEqual([["a"], true]);
    lease?.[Symbol.dispose]();
    await dropping;
    expect([there, open.has("a")]).toEqual([[], false]);
  });

  test("that another model filled are refused by name, and closed again", async () => {
    const { collections, open } = recordingStore(["theirs"], "other weights");
    expect(await rejectionOf(collections.lease("theirs"))).toMatchObject({
      kind: "invalid_request",
      message: expect.stringContaining("The collection 'theirs' was filled by the model"),
    });
    expect(open.size).toBe(0);
  });
});

/** One that a command filled, in a registry of its own. */
async function adoptedCollection() {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await tempDir());
  const registry = stack.use(sqliteDocuments(`${folder.path}/documents.sqlite`));
  const now = new Date();
  const store = { id: "vs_c", collection: "c", name: "c", state: "ready" as const };
  const record = { ...store, metadata: {}, isOwn: false, createdAt: now, lastActiveAt: now };
  await registry.addStore(record);
  const { collections, store: all } = recordingStore(["c"]);
  const adoptFiles = adoptFilesWith(
    { registry, store: all, now: () => now },
    collections,
    async () => {},
  );
  const owned = stack.move();
  return { registry, record, adoptFiles, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

test("the documents of a large collection become files without holding the loop up", async () => {
  await using adopting = await adoptedCollection();
  const { registry, record } = adopting;
  const counts = { passages: 1, parts: 1 };
  const documents = Array.from({ length: 30_000 }, (_, at) => ({ name: `${at}.md`, ...counts }));
  let lists = 0;
  const repository = {
    ...unusedRepository,
    revision: async () => "1",
    documents: async () => {
      lists++;
      return documents;
    },
  };
  const adopt = (): Promise<void> => adopting.adoptFiles(record, repository);
  using loop = watchLoop();
  structuredClone(documents.map((each) => ({ ...each, ...record })));
  const copying = loop.longest();
  await loop.idle();
  loop.longest();
  await Promise.all([adopt(), adopt(), adopt()]);
  // One list serves all that wait for it.
  expect(lists).toBe(1);
  expect(loop.longest()).toBeLessThan(copying / 2);
  expect(await registry.counts({ store: "vs_c" })).toMatchObject({ completed: documents.length });
});

test("a list of a collection that changes all the time serves who asked before it began", async () => {
  await using adopting = await adoptedCollection();
  const { record } = adopting;
  let changes = 0;
  let lists = 0;
  const begun = Promise.withResolvers<void>();
  const first = Promise.withResolvers<void>();
  const repository = {
    ...unusedRepository,
    revision: async () => `${++changes}`,
    documents: async () => {
      const list = ++lists;
      begun.resolve();
      if (list === 1) await first.promise;
      return [{ name: `${list}.md`, passages: 1, parts: 1 }];
    },
  };
  const adopt = (): Promise<void> => adopting.adoptFiles(record, repository);
  const asked = [adopt()];
  await begun.promise;
  for (let n = 0; n < 20; n++) asked.push(adopt());
  await Promise.resolve();
  first.resolve();
  await Promise.all(asked);
  expect(lists).toBe(2);
  await adopt();
  expect(lists).toBe(3);
});
