import { expect, test } from "bun:test";
import type { DocumentCaller } from "../../../../src/core/documents/document-caller.ts";
import { StoreAccess } from "../../../../src/core/documents/store-access.ts";
import type { CollectionStore } from "../../../../src/core/ports/passage-repository.ts";
import { sqliteDocuments } from "../../../../src/store/documents/sqlite-documents.ts";
import { rejectionOf } from "../../../support/rejection.ts";
import { replaceable } from "../../../support/replaceable.ts";
import { silentLog } from "../../../support/silence.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const refuse = (): never => {
  throw new Error("not asked for");
};

test("a bound key's question about another's vector store is the same work as about none", async () => {
  await using folder = await tempDir();
  await using documents = sqliteDocuments(`${folder.path}/documents.sqlite`);
  const now = () => new Date("2026-11-15T12:00:00Z");
  for (const name of ["mine", "theirs"]) {
    await documents.addStore({
      ...{ id: `vs_${name}`, collection: name, name, metadata: {}, isOwn: true, state: "ready" },
      ...{ createdAt: now(), lastActiveAt: now() },
    });
  }
  const work: string[] = [];
  const registry = Object.assign(replaceable(documents), {
    store: (id: string) => {
      work.push("store");
      return documents.store(id);
    },
    storeOf: (collection: string) => {
      work.push("storeOf");
      return documents.storeOf(collection);
    },
    outlines: (ids?: readonly string[]) => {
      work.push("outlines");
      return documents.outlines(ids);
    },
  });
  const store: CollectionStore = {
    async list() {
      work.push("list");
      return [];
    },
    ...{ isMissing: refuse, open: refuse, create: refuse, drop: refuse },
  };
  const expiryTime = now;
  const access = new StoreAccess({
    ...{ registry, store, now, expiryTime, log: silentLog, ownCollection: "default" },
  });
  const bound: DocumentCaller = { called: "The key 'bound'", vectorStores: ["vs_mine"] };
  const workFor = async (ask: () => Promise<unknown>): Promise<string[]> => {
    work.length = 0;
    expect(await rejectionOf(ask())).toMatchObject({ kind: "no_such_object" });
    return [...work];
  };
  const [existing, missing] = [
    await workFor(() => access.get(bound, "vs_theirs")),
    await workFor(() => access.get(bound, "vs_nobodys")),
  ];
  expect(existing).toEqual(missing);
  for (const reference of ["vs_theirs", "theirs"]) {
    expect(await workFor(() => access.find(bound, reference, "collection"))).toEqual(
      await workFor(() => access.find(bound, "nobodys", "collection")),
    );
  }
  expect(await access.get(bound, "vs_mine")).toMatchObject({ id: "vs_mine" });
  expect(await access.find(bound, "mine", "collection")).toMatchObject({ id: "vs_mine" });
});

test("the last use of all of a key's vector stores is one write", async () => {
  await using folder = await tempDir();
  await using documents = sqliteDocuments(`${folder.path}/documents.sqlite`);
  const made = new Date("2026-11-15T12:00:00Z");
  const ids = ["vs_1", "vs_2", "vs_3"];
  for (const id of ids) {
    await documents.addStore({
      ...{ id, collection: id, name: id, metadata: {}, isOwn: true, state: "ready" },
      ...{ createdAt: made, lastActiveAt: made },
    });
  }
  let at = new Date("2026-11-15T12:00:30Z");
  const writes: string[][] = [];
  const registry = Object.assign(replaceable(documents), {
    touchStores: async (stores: readonly string[], lastActiveAt: Date, before: Date) => {
      writes.push([...stores]);
      await documents.touchStores(stores, lastActiveAt, before);
    },
  });
  const unused = { list: refuse, isMissing: refuse, open: refuse, create: refuse, drop: refuse };
  const now = () => at;
  const access = new StoreAccess({
    ...{ registry, store: unused, now, expiryTime: now, log: silentLog, ownCollection: "default" },
  });
  const bound: DocumentCaller = { called: "The key 'bound'", vectorStores: ids };
  const lastUses = async () => (await access.usual(bound)).map(({ lastActiveAt }) => lastActiveAt);
  expect(await lastUses()).toEqual([made, made, made]);
  at = new Date("2026-11-15T12:02:00Z");
  expect(await lastUses()).toEqual([at, at, at]);
  expect((await documents.outlines()).map(({ lastActiveAt }) => lastActiveAt)).toEqual([
    at,
    at,
    at,
  ]);
  await lastUses();
  expect(writes).toEqual([ids]);
  // What another request has written meanwhile is not written again.
  const later = new Date("2026-11-15T12:02:01Z");
  await documents.touchStores(ids, later, new Date("2026-11-15T12:01:01Z"));
  expect(await lastUses()).toEqual([at, at, at]);
});

test("a bound key's stores are one question, without their texts", async () => {
  await using folder = await tempDir();
  await using documents = sqliteDocuments(`${folder.path}/documents.sqlite`);
  const now = () => new Date("2026-11-15T12:00:00Z");
  const ids = Array.from({ length: 100 }, (_, at) => `vs_${at}`);
  for (const id of ids) {
    await documents.addStore({
      ...{ id, collection: id, name: `name of ${id}`, metadata: { text: "x" }, isOwn: true },
      ...{ state: "ready", createdAt: now(), lastActiveAt: now() },
    });
  }
  const work: string[] = [];
  const count = <Arguments extends unknown[], Result>(
    name: string,
    ask: (...args: Arguments) => Result,
  ) => {
    return (...args: Arguments): Result => {
      work.push(name);
      return ask(...args);
    };
  };
  const registry = Object.assign(replaceable(documents), {
    store: count("store", documents.store),
    storeOf: count("storeOf", documents.storeOf),
    outlines: count("outlines", documents.outlines),
  });
  const unused = { list: refuse, isMissing: refuse, open: refuse, create: refuse, drop: refuse };
  const access = new StoreAccess({
    ...{ registry, store: unused, now, expiryTime: now, log: silentLog, ownCollection: "default" },
  });
  const bound: DocumentCaller = { called: "The key 'bound'", vectorStores: ids };
  expect(await access.find(bound, "vs_7", "vector_store_id")).toMatchObject({ id: "vs_7" });
  expect(work).toEqual(["storeOf", "store", "store"]);
  work.length = 0;
  const named = await access.find(bound, "name of vs_7", "vector_store_id");
  expect(named).toMatchObject({ id: "vs_7" });
  expect(named).not.toHaveProperty("metadata");
  expect(await access.usual(bound)).toHaveLength(100);
  // The others look for the node's own collection.
  expect(work.filter((name) => name === "outlines")).toHaveLength(2);
  expect(work.length).toBeLessThan(10);
});
