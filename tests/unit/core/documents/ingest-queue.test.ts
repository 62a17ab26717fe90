import { describe, expect, spyOn, test } from "bun:test";
import { RefusedText } from "../../../../src/core/documents/ingest-failure.ts";
import { IngestQueue } from "../../../../src/core/documents/ingest-queue.ts";
import type { StoreFile } from "../../../../src/core/documents/records.ts";
import { NodeError } from "../../../../src/core/errors.ts";
import { sqliteDocuments } from "../../../../src/store/documents/sqlite-documents.ts";
import { aborted, onAbort } from "../../../support/aborted.ts";
import { recordingLog } from "../../../support/recording-log.ts";
import { tempDir } from "../../../support/temp-dir.ts";
import { waitFor } from "../../../support/wait-for.ts";

const file = (name: string): StoreFile => ({
  ...{ store: `vs_${name}`, file: `file-${name}`, filename: `${name}.md`, document: `${name}.md` },
  ...{ isUploaded: true, attributes: {}, status: "in_progress", usageBytes: 0, passages: 0 },
  createdAt: new Date(),
});

const names = ["a", "b", "c"];

const nothingElse = { discard: async () => {}, cleanUp: async () => {}, isOwned: () => true };

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
    ...nothingElse,
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

test("a file that is deleted while it is ingested keeps no other of its store waiting", async () => {
  await using folder = await tempDir();
  await using registry = sqliteDocuments(`${folder.path}/documents.sqlite`);
  await registry.putStoreFiles([file("a"), { ...file("b"), store: "vs_a" }]);
  using timers = spyOn(globalThis, "setTimeout");
  let waited: number[] | undefined;
  const queue = new IngestQueue({
    ...{ registry, log: recordingLog().log },
    ingest: async (storeFile) => {
      if (storeFile.file === "file-b") waited = timers.mock.calls.map(([, ms = 0]) => ms);
      if (storeFile.file === "file-a") {
        await registry.removeFile("file-a");
        throw new Error("ENOENT: no such file or directory");
      }
      await registry.settle({ ...storeFile, status: "completed" });
    },
    ...nothingElse,
  });
  const stop = new AbortController();
  const running = queue.run(stop.signal);
  await waitFor("the other", async () => (await registry.waitingOwners()).length === 0);
  // What a store waits for the first time is a second; the test itself has longer timers.
  expect(waited?.filter((ms) => ms > 500 && ms < 5000)).toEqual([]);
  stop.abort();
  await running;
});

test("no file waits for deletions, which may be thousands", async () => {
  await using folder = await tempDir();
  await using registry = sqliteDocuments(`${folder.path}/documents.sqlite`);
  await registry.putStoreFiles(names.map(file));
  let cleanings = 0;
  const queue = new IngestQueue({
    ...{ registry, log: recordingLog().log },
    ingest: async (storeFile) => {
      await registry.settle({ ...storeFile, status: "completed" });
    },
    ...nothingElse,
    cleanUp: async (signal) => {
      cleanings++;
      await aborted(signal);
    },
  });
  const stop = new AbortController();
  const running = queue.run(stop.signal);
  await waitFor("all to be settled", async () => (await registry.waitingOwners()).length === 0);
  stop.abort();
  await running;
  expect(cleanings).toBe(1);
});

test("a file whose rest ends while the next one is looked for is not left for longer", async () => {
  await using folder = await tempDir();
  await using registry = sqliteDocuments(`${folder.path}/documents.sqlite`);
  await registry.putStoreFiles([file("a")]);
  let now = 0;
  using _clock = spyOn(performance, "now").mockImplementation(() => now);
  using _random = spyOn(Math, "random").mockReturnValue(0.5);
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
      if (queue.waitsFor(file("a")) !== undefined) slept.push(ms);
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
    ...nothingElse,
  });
  await queue.run(stop.signal);
  expect(Math.max(...slept)).toBe(1000);
});

test("a file waits while the process may open no more files, however often it is tried", async () => {
  await using folder = await tempDir();
  await using registry = sqliteDocuments(`${folder.path}/documents.sqlite`);
  await registry.putStoreFiles([file("a")]);
  let now = 0;
  using _clock = spyOn(performance, "now").mockImplementation(() => now);
  let tries = 0;
  const waits = new Set<string | undefined>();
  const queue = new IngestQueue({
    ...{ registry, log: recordingLog().log },
    ingest: async (storeFile) => {
      if (tries > 0) waits.add(queue.waitsFor(storeFile)?.message);
      if (++tries <= 5) {
        throw Object.assign(new Error("EMFILE: too many open files"), { code: "EMFILE" });
      }
      await registry.settle({ ...storeFile, status: "completed" });
    },
    discard: async () => {},
    cleanUp: async () => {
      now += 60_000;
    },
    isOwned: () => true,
  });
  const stop = new AbortController();
  const running = queue.run(stop.signal);
  await waitFor("the file to be settled", async () => {
    queue.wake();
    return (await registry.waitingOwners()).length === 0;
  });
  stop.abort();
  await running;
  expect(await registry.counts({ store: "vs_a" })).toMatchObject({ completed: 1, failed: 0 });
  const why = "The node has no open files, processes or memory to spare now. It tries again.";
  expect([...waits]).toEqual([why]);
});

test.each([
  ["puts off again and again fails after five hours", "too_many_requests", 600, 290, 10],
  ["fails at again and again fails after two minutes", "upstream_failed", 10, 2, 6],
] as const)(
  "a file whose text a server %s, and others of its store go on before",
  async (_, kind, tries, minutes, before) => {
    await using folder = await tempDir();
    await using registry = sqliteDocuments(`${folder.path}/documents.sqlite`);
    const [bad, good] = [file("a"), { ...file("b"), store: "vs_a" }];
    await registry.putStoreFiles([bad, good]);
    let now = 0;
    using _clock = spyOn(performance, "now").mockImplementation(() => now);
    const tried: number[] = [];
    let triedBefore = 0;
    const refusal = new NodeError(kind, "Later.");
    const queue = new IngestQueue({
      ...{ registry, log: recordingLog().log },
      ingest: async (storeFile) => {
        if (storeFile.file === bad.file) {
          tried.push(now);
          throw new RefusedText(refusal);
        }
        triedBefore = tried.length;
        await registry.settle({ ...storeFile, status: "completed" });
      },
      discard: async () => {},
      cleanUp: async () => {
        now += 10_000;
      },
      isOwned: () => true,
    });
    const stop = new AbortController();
    const running = queue.run(stop.signal);
    await waitFor(
      "both to be settled",
      async () => {
        queue.wake();
        return (await registry.waitingOwners()).length === 0;
      },
      1,
    );
    stop.abort();
    await running;
    expect(tried).toHaveLength(tries);
    expect(tried.at(-1)).toBeGreaterThan(minutes * 60_000);
    // The clock jumps by ten seconds, over the first four pauses of the file: those of its store come before.
    expect(triedBefore).toBeLessThanOrEqual(before);
    expect(await registry.inStore("vs_a", [bad.file])).toMatchObject([{ status: "failed" }]);
  },
);

test("no file fails at a limit that others use up again and again", async () => {
  await using folder = await tempDir();
  await using registry = sqliteDocuments(`${folder.path}/documents.sqlite`);
  const many = Array.from("abcdefgh", (name) => ({ ...file(name), store: "vs_a" }));
  await registry.putStoreFiles(many);
  let now = 0;
  using _clock = spyOn(performance, "now").mockImplementation(() => now);
  let freeAt = 0;
  const queue = new IngestQueue({
    ...{ registry, log: recordingLog().log },
    ingest: async (storeFile, _, { onEmbedded }) => {
      if (now < freeAt) throw new RefusedText(new NodeError("too_many_requests", "Later."));
      freeAt = now + 8 * 60_000;
      onEmbedded();
      await registry.settle({ ...storeFile, status: "completed" });
    },
    discard: async () => {},
    cleanUp: async () => {
      now += 5000;
    },
    isOwned: () => true,
  });
  const stop = new AbortController();
  const running = queue.run(stop.signal);
  await waitFor(
    "all to be settled",
    async () => {
      queue.wake();
      return (await registry.waitingOwners()).length === 0;
    },
    1,
  );
  stop.abort();
  await running;
  expect(await registry.counts({ store: "vs_a" })).toMatchObject({ completed: 8, failed: 0 });
});

test("no file of many fails where a server fails at each for two minutes, and few are tried meanwhile", async () => {
  await using folder = await tempDir();
  await using registry = sqliteDocuments(`${folder.path}/documents.sqlite`);
  const many = Array.from({ length: 40 }, (_, at) => ({ ...file(`f${at}`), store: "vs_a" }));
  await registry.putStoreFiles(many);
  let now = 0;
  using _clock = spyOn(performance, "now").mockImplementation(() => now);
  let tries = 0;
  const queue = new IngestQueue({
    ...{ registry, log: recordingLog().log },
    ingest: async (storeFile, _, { onEmbedded }) => {
      if (now < 2 * 60_000) {
        tries++;
        throw new RefusedText(new NodeError("upstream_failed", "It failed."));
      }
      onEmbedded();
      await registry.settle({ ...storeFile, status: "completed" });
    },
    discard: async () => {},
    cleanUp: async () => {
      now += 100;
    },
    isOwned: () => true,
  });
  const stop = new AbortController();
  const running = queue.run(stop.signal);
  await waitFor(
    "all to be settled",
    async () => {
      queue.wake();
      return (await registry.waitingOwners()).length === 0;
    },
    1,
  );
  stop.abort();
  await running;
  expect(await registry.counts({ store: "vs_a" })).toMatchObject({ completed: 40, failed: 0 });
  expect(tries).toBeLessThan(60);
});

test("a file at which a server ends fails, and none of those that were ingested beside it", async () => {
  await using folder = await tempDir();
  await using registry = sqliteDocuments(`${folder.path}/documents.sqlite`);
  const owned = ["a", "b", "c", "d"].map((name) => ({ ...file(name), owner: name }));
  await registry.putStoreFiles(owned);
  let now = 0;
  using _clock = spyOn(performance, "now").mockImplementation(() => now);
  let upAt = 0;
  let ended = Promise.withResolvers<never>();
  ended.promise.catch(() => {});
  const queue = new IngestQueue({
    ...{ registry, log: recordingLog().log },
    ingest: async (storeFile, _, { hasWaited }) => {
      const away = new NodeError("unavailable", "It cannot be reached.");
      if (now < upAt) throw away;
      // As the pipeline tells a server that answered just before.
      const atText = hasWaited ? new NodeError("upstream_failed", "It broke off.") : away;
      const isCause = storeFile.file === "file-a";
      await Promise.race([ended.promise, Bun.sleep(isCause ? 10 : 15)]).catch(() => {
        throw atText;
      });
      if (isCause) {
        upAt = now + 1000;
        ended.reject(new Error("It ended."));
        ended = Promise.withResolvers();
        ended.promise.catch(() => {});
        throw atText;
      }
      await registry.settle({ ...storeFile, status: "completed" });
    },
    discard: async () => {},
    cleanUp: async () => {
      now += 50;
    },
    isOwned: () => true,
  });
  const stop = new AbortController();
  const running = queue.run(stop.signal);
  const areSettled = async (): Promise<boolean> => {
    queue.wake();
    return (await registry.waitingOwners()).length === 0;
  };
  await waitFor("all to be settled", areSettled, 1);
  stop.abort();
  await running;
  const statuses = await Promise.all(
    owned.map(({ store, file }) => registry.inStore(store, [file])),
  );
  const one = ([known]: readonly StoreFile[]) => known?.status;
  expect(statuses.map(one)).toEqual(["failed", "completed", "completed", "completed"]);
});

describe("files of more callers than have a place", () => {
  const minute = 60_000;
  const owners = ["ada", "bob", "eve", "joe", "kim"];

  /** Files by their caller's name, in steps: how many passages each has, and how many are stored. */
  async function setUp(path: string, passages: Record<string, number>) {
    const stack = new AsyncDisposableStack();
    const registry = stack.use(sqliteDocuments(path));
    let now = 0;
    stack.use(spyOn(performance, "now").mockImplementation(() => now));
    const state = { stored: new Map<string, number>(), running: new Map<string, () => void>() };
    const began: string[] = [];
    let [most, looks] = [0, 0];
    const add = async (...names: string[]): Promise<void> => {
      await registry.putStoreFiles(names.map((owner) => ({ ...file(owner), owner })));
      queue.wake();
    };
    const queue = new IngestQueue({
      ...{ registry, log: recordingLog().log },
      ingest: async (storeFile, signal, { onEmbedded }) => {
        const { owner = "" } = storeFile;
        began.push(owner);
        while ((state.stored.get(owner) ?? 0) < (passages[owner] ?? 0)) {
          const { promise, resolve, reject } = Promise.withResolvers<void>();
          state.running.set(owner, resolve);
          most = Math.max(most, state.running.size);
          onAbort(signal, () => {
            state.running.delete(owner);
            reject(signal.reason);
          });
          await promise;
          state.running.delete(owner);
          state.stored.set(owner, (state.stored.get(owner) ?? 0) + 1);
          onEmbedded();
        }
        await registry.settle({ ...storeFile, status: "completed" });
      },
      discard: async () => {},
      cleanUp: async () => void looks++,
      isOwned: () => true,
    });
    const stop = new AbortController();
    const running = queue.run(stop.signal);
    stack.defer(async () => {
      stop.abort();
      await running;
    });
    const until = (what: string, isSo: () => boolean): Promise<void> =>
      waitFor(what, () => {
        queue.wake();
        return isSo();
      });
    /** All that are running store a passage. */
    const step = async (): Promise<void> => {
      const before = [...state.running].map(([owner]) => [owner, state.stored.get(owner)] as const);
      for (const goOn of [...state.running.values()]) goOn();
      await until("a step", () => before.every(([of, count]) => state.stored.get(of) !== count));
    };
    return {
      ...{ ...state, began, add, until, step, registry },
      pass: (ms: number) => {
        now += ms;
      },
      most: () => most,
      looks: () => looks,
      [Symbol.asyncDispose]: () => stack.disposeAsync(),
    };
  }

  const large = { ada: 9, bob: 9, eve: 9, joe: 9 };

  test("begin when one of the large files has had its turn", async () => {
    await using folder = await tempDir();
    await using queue = await setUp(`${folder.path}/documents.sqlite`, { ...large, kim: 0 });
    const { running, began, add, until, step, pass } = queue;
    await add("ada", "bob", "eve", "joe");
    await until("all places to be taken", () => running.size === 4);
    await step();
    pass(minute);
    await add("kim");
    await until("the fifth to begin", () => began.includes("kim"));
    await until("the interrupted one to continue", () => began.length >= 6 && running.size === 4);
  });

  test("all come to their end, with no more texts in memory than there are places", async () => {
    await using folder = await tempDir();
    await using queue = await setUp(`${folder.path}/documents.sqlite`, { ...large, kim: 9 });
    const { stored, running, began, add, registry, until, step, pass, most } = queue;
    const unfinished = (): number => owners.filter((owner) => stored.get(owner) !== 9).length;
    await add(...owners);
    while (unfinished() > 0) {
      await until("the places to be taken", () => running.size === Math.min(4, unfinished()));
      const begun = began.length;
      await step();
      pass(minute);
      await until("the next to begin", () => unfinished() < 5 || began.length > begun);
    }
    await waitFor("all to be recorded", async () => (await registry.queued()) === 0);
    expect(most()).toBe(4);
  });

  test("interrupt none that has stored no more of its file yet", async () => {
    await using folder = await tempDir();
    await using queue = await setUp(`${folder.path}/documents.sqlite`, { ...large, kim: 0 });
    const { running, began, add, until, step, pass, looks } = queue;
    await add("ada", "bob", "eve", "joe", "kim");
    await until("all places to be taken", () => running.size === 4);
    pass(10 * minute);
    const looked = looks();
    await until("some looks", () => looks() > looked + 3);
    expect(began).toHaveLength(4);
    await step();
    // It took ten minutes until more was stored: so long is the turn.
    pass(10 * minute - 1);
    const lookedAgain = looks();
    await until("some looks", () => looks() > lookedAgain + 3);
    expect(began).toHaveLength(4);
    pass(1);
    await until("the fifth to begin", () => began.length >= 5);
  });

  test("interrupt none where nobody waits", async () => {
    await using folder = await tempDir();
    await using queue = await setUp(`${folder.path}/documents.sqlite`, large);
    const { running, began, add, until, step, pass } = queue;
    await add("ada", "bob", "eve", "joe");
    await until("all places to be taken", () => running.size === 4);
    for (let count = 0; count < 9; count++) {
      await step();
      pass(minute);
    }
    expect(began).toHaveLength(4);
  });
});
