import { afterEach, beforeEach, describe, expect, spyOn, test } from "bun:test";
import { join } from "node:path";
import { untilAborted } from "../../src/core/abort.ts";
import type { NewKey, Scope } from "../../src/core/limits/api-key.ts";
import { ChatCompletion } from "../../src/server/operations/chat/schema.ts";
import { FileObject } from "../../src/server/operations/files/schema.ts";
import { RetrieveResult } from "../../src/server/operations/retrieve/schema.ts";
import { VectorStore } from "../../src/server/operations/vector-stores/schema.ts";
import { pageSchema } from "../../src/server/wire/page-schema.ts";
import { SqliteKeys } from "../../src/store/keys/sqlite-keys.ts";
import { decode, decodeError } from "../support/decode.ts";
import { type DocumentsClient, documentsClient } from "../support/documents-client.ts";
import { passage } from "../support/passages.ts";
import { type RunningDocuments, runningDocuments } from "../support/running-documents.ts";
import { finish } from "../support/scripted-engines.ts";
import { tempDir } from "../support/temp-dir.ts";
import { waitFor } from "../support/wait-for.ts";

let resources: AsyncDisposableStack;
let keys: SqliteKeys;
let running: RunningDocuments;
/** A key that opens everything. */
let admin: DocumentsClient;

const everything: Scope[] = ["chat", "embeddings", "retrieve", "documents"];

const give = (name: string, rest: Partial<NewKey> = {}): DocumentsClient =>
  documentsClient(running.app, keys.create({ name, scopes: everything, ...rest }).text);

beforeEach(async () => {
  resources = new AsyncDisposableStack();
  const folder = resources.use(await tempDir());
  keys = resources.use(new SqliteKeys(join(folder.path, "keys.sqlite")));
  const quotaOf = (owner: string) => keys.byId(owner)?.quota ?? {};
  running = resources.use(await runningDocuments({ ring: keys, documents: { quotaOf } }));
  admin = give("admin");
});
afterEach(async () => await resources.disposeAsync());

const statuses = async (...answers: Promise<Response>[]): Promise<number[]> =>
  (await Promise.all(answers)).map(({ status }) => status);

const question = { model: "vectors", messages: [{ role: "user", content: "llamas hum" }] };

const retrieve = async (client: DocumentsClient, rest: object = {}): Promise<string[]> => {
  const response = await client.send("POST", "/retrieve", { ...question, ...rest });
  return (await decode(RetrieveResult, response)).points.map(({ source }) => source);
};

test("a key makes at most half of the node's vector stores, and leaves the rest to others", async () => {
  await using small = await runningDocuments({ ring: keys, documents: { maxStores: 3 } });
  const client = (name: string) =>
    documentsClient(small.app, keys.create({ name, scopes: everything }).text);
  const [ada, bob] = [client("ada"), client("bob")];
  const make = (by: DocumentsClient) => by.send("POST", "/vector_stores", {});
  expect(await statuses(make(ada), make(ada))).toEqual([200, 200]);
  const refused = await make(ada);
  expect(refused.status).toBe(429);
  expect((await decodeError(refused)).message).toContain("half of these of one key");
  expect((await make(bob)).status).toBe(200);
});

test("many requests of one key about documents hold up no other's", async () => {
  const [ada, bob] = [give("ada"), give("bob")];
  const ended: string[] = [];
  const ask = async (by: DocumentsClient, name: string) => {
    expect((await by.send("GET", "/files")).status).toBe(200);
    ended.push(name);
  };
  const many = Array.from({ length: 40 }, () => ask(ada, "ada"));
  await Promise.all([...many, ask(bob, "bob")]);
  expect(ended.indexOf("bob")).toBeLessThan(20);
});

describe("a key's scopes", () => {
  test("open documents only where they name them, and search with 'retrieve'", async () => {
    const { id } = await admin.store();
    await admin.taken(id, "llamas hum");
    const asking = give("asking", { scopes: ["chat", "embeddings", "retrieve"] });
    expect(
      await statuses(
        asking.send("GET", "/files"),
        asking.upload("text"),
        asking.send("GET", "/vector_stores"),
        asking.send("POST", "/vector_stores", {}),
        asking.send("GET", `/vector_stores/${id}/files`),
        asking.send("DELETE", `/vector_stores/${id}`),
      ),
    ).toEqual([403, 403, 403, 403, 403, 403]);
    expect(await asking.search(id, "llamas hum")).toHaveLength(1);
    const filling = give("filling", { scopes: ["documents"] });
    expect(
      await statuses(
        filling.send("GET", "/vector_stores"),
        filling.send("POST", `/vector_stores/${id}/search`, { query: "llamas" }),
        documentsClient(running.app).send("GET", "/files"),
      ),
    ).toEqual([200, 403, 401]);
  });
});

describe("a key that is bound to a vector store", () => {
  let mine: string;
  let theirs: string;
  let bound: DocumentsClient;
  let theirFile: string;
  let sharedFile: string;

  beforeEach(async () => {
    mine = (await admin.store({ name: "mine" })).id;
    theirs = (await admin.store({ name: "theirs" })).id;
    sharedFile = (await admin.taken(mine, "llamas hum")).id;
    theirFile = (await admin.taken(theirs, "llamas hide")).id;
    await running.app.repository.upsert([passage(1, [10, 1], { source: "llamas of the node" })]);
    bound = give("reader", { vectorStores: [mine] });
  });

  test("sees that one alone, and its files", async () => {
    const stores = await decode(pageSchema(VectorStore), await bound.send("GET", "/vector_stores"));
    expect(stores.data.map(({ id }) => id)).toEqual([mine]);
    const files = await decode(pageSchema(FileObject), await bound.send("GET", "/files"));
    expect(files.data.map(({ id }) => id)).toEqual([sharedFile]);
    expect(
      await statuses(
        bound.send("GET", `/vector_stores/${mine}`),
        bound.send("GET", `/files/${sharedFile}/content`),
        bound.send("GET", `/vector_stores/${theirs}`),
        bound.send("GET", `/vector_stores/${theirs}/files`),
        bound.send("GET", `/vector_stores/${theirs}/files/${theirFile}/content`),
        bound.send("GET", `/files/${theirFile}`),
        bound.send("GET", `/files/${theirFile}/content`),
        bound.send("GET", "/vector_stores/vs_default"),
      ),
    ).toEqual([200, 200, 404, 404, 404, 404, 404, 404]);
  });

  test("searches many without having all of them open at a time", async () => {
    const stores = await Promise.all(Array.from({ length: 20 }, () => admin.store()));
    const { repository, documents } = running.app;
    const open = { now: 0, most: 0 };
    using _ = spyOn(documents.collections, "lease").mockImplementation(async () => {
      open.most = Math.max(open.most, ++open.now);
      const prefixes = { queryPrefix: "", documentPrefix: "" };
      return { repository, prefixes, [Symbol.dispose]: () => void open.now-- };
    });
    const reader = give("reader of many", { vectorStores: stores.map(({ id }) => id) });
    expect(await retrieve(reader)).toEqual([]);
    expect(open).toEqual({ now: 0, most: 16 });
  });

  test("searches that one alone, by every way of asking", async () => {
    expect(await retrieve(bound)).toEqual(["llamas hum"]);
    expect(await retrieve(bound, { collection: "mine" })).toEqual(["llamas hum"]);
    expect(await retrieve(admin)).toEqual(["llamas of the node"]);
    expect(await retrieve(admin, { collection: [mine, theirs] })).toHaveLength(2);
    const rag = (vector_store_ids?: string[]) => ({
      model: "chatty",
      messages: question.messages,
      rag: vector_store_ids === undefined ? true : { vector_store_ids },
    });
    expect(
      await statuses(
        bound.send("POST", `/vector_stores/${theirs}/search`, { query: "llamas" }),
        bound.send("POST", "/retrieve", { ...question, collection: theirs }),
        bound.send("POST", "/retrieve", { ...question, collection: [mine, "theirs"] }),
        bound.send("POST", "/retrieve", { ...question, collection: "default" }),
        bound.send("POST", "/chat/completions", rag([theirs])),
      ),
    ).toEqual([404, 404, 404, 404, 404]);
    running.app.chat.script({ type: "text", text: "Hum" }, finish);
    const answer = await decode(
      ChatCompletion,
      await bound.send("POST", "/chat/completions", rag()),
    );
    expect(answer.retrieval?.points.map(({ source }) => source)).toEqual(["llamas hum"]);
  });

  test("fills that one alone, with files of its own", async () => {
    const file = await bound.file("llamas sing");
    await bound.add(mine, { file_id: file });
    expect(await bound.settled(mine, file)).toMatchObject({ status: "completed" });
    expect(
      await statuses(
        bound.send("POST", "/vector_stores", { name: "more" }),
        bound.send("POST", `/vector_stores/${theirs}/files`, { file_id: file }),
        bound.send("POST", `/vector_stores/${mine}/files`, { file_id: theirFile }),
        bound.send("DELETE", `/vector_stores/${theirs}/files/${theirFile}`),
        bound.send("DELETE", `/vector_stores/${theirs}`),
        bound.send("DELETE", `/files/${theirFile}`),
        bound.send("DELETE", `/files/${sharedFile}`),
        bound.send("DELETE", `/files/${file}`),
        bound.send("DELETE", `/vector_stores/${mine}/files/${sharedFile}`),
      ),
    ).toEqual([403, 404, 404, 404, 404, 404, 403, 200, 200]);
    expect(await admin.search(theirs, "llamas")).toHaveLength(1);
    expect(await admin.search(mine, "llamas")).toEqual([]);
  });

  test("does not delete it, nor rename it, nor let it expire", async () => {
    const refused = await bound.send("DELETE", `/vector_stores/${mine}`);
    expect(refused.status).toBe(403);
    expect((await decodeError(refused)).message).toContain("Remove its files instead");
    const soon = { expires_after: { anchor: "last_active_at", days: 1 } };
    expect(
      await statuses(
        bound.send("POST", `/vector_stores/${mine}`, soon),
        bound.send("POST", `/vector_stores/${mine}`, { expires_after: null }),
        bound.send("POST", `/vector_stores/${mine}`, { name: "theirs" }),
        bound.send("POST", `/vector_stores/${mine}`, { metadata: { by: "reader" } }),
      ),
    ).toEqual([403, 403, 403, 200]);
    expect(await retrieve(bound)).toEqual(["llamas hum"]);
  });

  test("only reads it where it is bound to read", async () => {
    const reading = give("reading", { vectorStores: [`${mine}:read`] });
    expect(await retrieve(reading)).toEqual(["llamas hum"]);
    const batch = await admin.batch(mine, { file_ids: [sharedFile] });
    expect(
      await statuses(
        reading.send("GET", `/vector_stores/${mine}`),
        reading.send("GET", `/vector_stores/${mine}/files/${sharedFile}/content`),
        reading.send("GET", `/files/${sharedFile}/content`),
        reading.send("GET", `/vector_stores/${theirs}`),
      ),
    ).toEqual([200, 200, 200, 404]);
    const path = `/vector_stores/${mine}`;
    const refused = [
      reading.upload("llamas sing"),
      reading.send("POST", path, { name: "other" }),
      reading.send("POST", `${path}/files`, { file_id: sharedFile }),
      reading.send("POST", `${path}/file_batches`, { file_ids: [sharedFile] }),
      reading.send("POST", `${path}/file_batches/${batch.id}/cancel`),
      reading.send("POST", `${path}/files/${sharedFile}`, { attributes: { a: 1 } }),
      reading.send("DELETE", `${path}/files/${sharedFile}`),
      reading.send("DELETE", path),
      reading.send("DELETE", `/files/${sharedFile}`),
      reading.send("POST", "/vector_stores", {}),
    ];
    expect(await statuses(...refused)).toEqual(refused.map(() => 403));
    const both = give("both", { vectorStores: [`${mine}:read`, theirs] });
    const file = await both.file("llamas sing");
    expect(await statuses(both.send("POST", `${path}/files`, { file_id: file }))).toEqual([403]);
    await both.add(theirs, { file_id: file });
  });

  test("finds nothing where its store is deleted, and nothing else instead", async () => {
    await admin.send("DELETE", `/vector_stores/${mine}`);
    expect(await retrieve(bound)).toEqual([]);
    expect((await bound.send("GET", `/vector_stores/${mine}`)).status).toBe(404);
  });
});

describe("a key's quota", () => {
  test("bounds the bytes of its files, whatever others have", async () => {
    const small = give("small", { quota: { bytes: 5000 } });
    await admin.file("x".repeat(10_000));
    // One after the other: what is being uploaded counts too.
    expect((await small.upload("x".repeat(3500))).status).toBe(200);
    expect((await small.upload("x".repeat(5001))).status).toBe(429);
    const over = await small.upload("x".repeat(1501));
    expect(await decodeError(over)).toMatchObject({
      code: "insufficient_quota",
      message: expect.stringContaining("The key 'small' may have 5 kB of files"),
    });
  });

  test("counts every file as a kilobyte at least, an empty one too", async () => {
    const small = give("small", { quota: { bytes: 3000 } });
    expect(await statuses(small.upload(""))).toEqual([200]);
    expect(await statuses(small.upload("x"))).toEqual([200]);
    expect(await statuses(small.upload(""))).toEqual([429]);
  });

  test("bounds the passages of the files that it adds", async () => {
    const small = give("small", { quota: { passages: 1 } });
    const { id } = await admin.store();
    await admin.taken(id, "llamas hum");
    expect(await small.taken(id, "one")).toMatchObject({ status: "completed" });
    expect(await small.taken(id, "two")).toMatchObject({
      status: "failed",
      last_error: { message: expect.stringContaining("may have 1 passages of files") },
    });
  });
});

test("a key that fills its half of the ingest queue leaves the rest to others", async () => {
  const { promise: never } = Promise.withResolvers<void>();
  const beforeIngest = (_: string, signal: AbortSignal) => untilAborted(never, signal);
  const documents = { maxQueue: 4, beforeIngest };
  running = resources.use(await runningDocuments({ ring: keys, documents }));
  const [greedy, other] = [give("greedy"), give("other")];
  const { id } = await other.store();
  const add = async (client: DocumentsClient): Promise<Response> =>
    await client.send("POST", `/vector_stores/${id}/files`, { file_id: await client.file("text") });
  expect([(await add(greedy)).status, (await add(greedy)).status]).toEqual([200, 200]);
  const refused = await add(greedy);
  expect(refused.status).toBe(503);
  expect(await decodeError(refused)).toMatchObject({
    code: "queue_full",
    message: expect.stringContaining("2 files wait to be ingested, 2 of them of this key"),
  });
  expect([(await add(other)).status, (await add(other)).status]).toEqual([200, 200]);
  const none = await add(give("third"));
  expect(await decodeError(none)).toMatchObject({
    code: "queue_full",
    message: expect.stringContaining("4 files wait"),
  });
});

test("a file that is added again takes no second place of the ingest queue", async () => {
  const { promise: never } = Promise.withResolvers<void>();
  const beforeIngest = (_: string, signal: AbortSignal) => untilAborted(never, signal);
  const documents = { maxQueue: 2, beforeIngest };
  running = resources.use(await runningDocuments({ ring: keys, documents }));
  const client = give("one");
  const { id } = await client.store();
  const file_id = await client.file("text");
  const again = { file_id, attributes: { a: 1 } };
  await client.add(id, { file_id });
  expect(await client.add(id, again)).toMatchObject({ attributes: { a: 1 } });
});

describe("a file that is being ingested", () => {
  let begun: { filename: string; signal: AbortSignal }[];
  let complete: () => void;
  let ada: DocumentsClient;
  let bob: DocumentsClient;
  let store: string;
  let file: string;

  beforeEach(async () => {
    begun = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    complete = resolve;
    const beforeIngest = (filename: string, signal: AbortSignal) => {
      begun.push({ filename, signal });
      return untilAborted(promise, signal);
    };
    running = resources.use(await runningDocuments({ ring: keys, documents: { beforeIngest } }));
    ada = give("ada");
    bob = give("bob");
    store = (await ada.store()).id;
    file = await ada.file("llamas hum", "ada.md");
    await ada.add(store, { file_id: file });
    await waitFor("ada's file to be begun", () => begun.length === 1);
  });

  const ingests = () => begun.map(({ filename, signal }) => [filename, signal.aborted]);

  test("is not restarted by another file that a key adds again with other settings", async () => {
    const file_id = await bob.file("bees buzz", "bob.md");
    running.app.embedding.maxTokens = 200;
    for (const [round, max_chunk_size_tokens] of [100, 101, 100].entries()) {
      const sizes = { max_chunk_size_tokens, chunk_overlap_tokens: 0 };
      await bob.add(store, { file_id, chunking_strategy: { type: "static", static: sizes } });
      const ofBob = () => begun.filter(({ filename }) => filename === "bob.md");
      await waitFor("bob's file to be begun", () => ofBob().length === round + 1);
    }
    expect(ingests()).toEqual([
      ["ada.md", false],
      ["bob.md", true],
      ["bob.md", true],
      ["bob.md", false],
    ]);
    complete();
    expect(await ada.settled(store, file)).toMatchObject({ status: "completed" });
    expect(await bob.settled(store, file_id)).toMatchObject({
      status: "completed",
      chunking_strategy: { static: { max_chunk_size_tokens: 100 } },
    });
  });

  test("is not restarted by being added again as it is, alone or in a batch", async () => {
    await bob.add(store, { file_id: file, attributes: { a: 1 } });
    const batch = await bob.batch(store, { file_ids: [file] });
    expect(batch.file_counts).toMatchObject({ in_progress: 1, total: 1 });
    complete();
    expect(await ada.settled(store, file)).toMatchObject({
      status: "completed",
      attributes: { a: 1 },
    });
    expect(ingests()).toEqual([["ada.md", false]]);
    expect(await bob.getBatch(store, batch.id)).toMatchObject({ status: "completed" });
  });

  test("stays completed where it is while it is added again", async () => {
    const { registry } = running.app;
    const { putStoreFiles } = registry;
    // It is completed between what is known of the file and what is written of it.
    registry.putStoreFiles = async (...args) => {
      registry.putStoreFiles = putStoreFiles;
      complete();
      await ada.settled(store, file);
      return await putStoreFiles(...args);
    };
    expect(await bob.add(store, { file_id: file })).toMatchObject({ status: "completed" });
    expect(ingests()).toEqual([["ada.md", false]]);
  });
});
