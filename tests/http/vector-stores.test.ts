import { Database } from "bun:sqlite";
import { afterEach, describe, expect, test } from "bun:test";
import { cp, readdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { untilAborted } from "../../src/core/abort.ts";
import { VectorStore } from "../../src/server/operations/vector-stores/schema.ts";
import { pageSchema } from "../../src/server/wire/page-schema.ts";
import { noteWrite } from "../../src/store/documents/store-rows.ts";
import { SqliteCollectionStore } from "../../src/store/sqlite/sqlite-collections.ts";
import { decode, decodeError } from "../support/decode.ts";
import { type DocumentsClient, documentsClient } from "../support/documents-client.ts";
import { passage } from "../support/passages.ts";
import { parsePrometheus, sampleValue } from "../support/prometheus-text.ts";
import { recordingLog } from "../support/recording-log.ts";
import { type RunningDocuments, runningDocuments } from "../support/running-documents.ts";
import { silentLog } from "../support/silence.ts";
import { tempDir } from "../support/temp-dir.ts";
import type { TestAppOptions } from "../support/test-app.ts";
import type { TestDocumentOptions } from "../support/test-documents.ts";
import { specOf } from "../support/test-models.ts";
import { waitFor } from "../support/wait-for.ts";

let ending = new AsyncDisposableStack();
afterEach(async () => {
  await ending.disposeAsync();
  ending = new AsyncDisposableStack();
});

const start = async (
  documents: TestDocumentOptions = {},
  options: TestAppOptions = {},
): Promise<RunningDocuments> => ending.use(await runningDocuments({ ...options, documents }));

const none = { in_progress: 0, completed: 0, failed: 0, cancelled: 0, total: 0 };

/** Holds files back until it is opened. */
function gate() {
  const { promise, resolve } = Promise.withResolvers<void>();
  const reached: string[] = [];
  return {
    reached,
    open: resolve,
    async beforeIngest(name: string, signal: AbortSignal) {
      reached.push(name);
      await untilAborted(promise, signal);
    },
  };
}

describe("a vector store", () => {
  test("is made, described, changed, listed and deleted", async () => {
    const now = new Date("2026-11-15T12:00:00Z");
    const { client } = await start({ now: () => now });
    const seconds = now.getTime() / 1000;
    const made = await client.store({
      name: "Notes",
      description: "Of mine",
      metadata: { team: "a" },
      expires_after: { anchor: "last_active_at", days: 7 },
    });
    expect(made).toEqual({
      id: expect.stringMatching(/^vs_[0-9a-f]{24}$/),
      object: "vector_store",
      created_at: seconds,
      name: "Notes",
      description: "Of mine",
      usage_bytes: 0,
      file_counts: none,
      status: "completed",
      expires_after: { anchor: "last_active_at", days: 7 },
      expires_at: seconds + 7 * 86_400,
      last_active_at: seconds,
      metadata: { team: "a" },
      collection: made.id,
    });
    expect(await client.getStore(made.id)).toEqual(made);
    const changed = await client.send("POST", `/vector_stores/${made.id}`, {
      name: "Other",
      metadata: null,
      expires_after: null,
    });
    expect(await changed.json()).toEqual({
      ...made,
      name: "Other",
      metadata: {},
      expires_after: null,
      expires_at: null,
    });
    const list = await decode(
      pageSchema(VectorStore),
      await client.send("GET", "/vector_stores?order=asc"),
    );
    expect(list.data.map(({ id, name }) => [id, name])).toEqual([
      [made.id, "Other"],
      ["vs_default", "default"],
    ]);
    expect(await (await client.send("DELETE", `/vector_stores/${made.id}`)).json()).toEqual({
      id: made.id,
      object: "vector_store.deleted",
      deleted: true,
    });
    expect((await client.send("GET", `/vector_stores/${made.id}`)).status).toBe(404);
  });

  test.each<[object, string]>([
    [{ name: 5 }, "name"],
    [{ expires_after: { anchor: "created_at", days: 1 } }, "expires_after"],
    [{ expires_after: { anchor: "last_active_at", days: 0 } }, "expires_after.days"],
    [{ metadata: { [`${"x".repeat(65)}`]: "1" } }, "metadata"],
    [
      { metadata: Object.fromEntries(Array.from({ length: 17 }, (_, at) => [at, "1"])) },
      "metadata",
    ],
    [{ file_ids: ["file-nobody"] }, "file_ids[0]"],
  ])("is not made of %j, which is named", async (body, param) => {
    const { client } = await start();
    const response = await client.send("POST", "/vector_stores", body);
    expect([400, 404]).toContain(response.status);
    expect(await decodeError(response)).toMatchObject({ param });
    const list = await decode(pageSchema(VectorStore), await client.send("GET", "/vector_stores"));
    expect(list.data.map(({ id }) => id)).toEqual(["vs_default"]);
  });

  test("is not made beyond what the node keeps", async () => {
    const { client } = await start({ maxStores: 1 });
    await client.store();
    const refused = await client.send("POST", "/vector_stores", {});
    expect(refused.status).toBe(429);
    expect(await decodeError(refused)).toMatchObject({ code: "insufficient_quota" });
  });

  test("expires when nobody uses it, and loses its passages", async () => {
    let now = new Date("2026-11-15T12:00:00Z");
    const { client, app, place } = await start({ now: () => now });
    const { id } = await client.store({ expires_after: { anchor: "last_active_at", days: 1 } });
    await client.taken(id, "llamas hum");
    now = new Date(now.getTime() + 23 * 3_600_000);
    expect(await client.search(id, "llamas hum")).toHaveLength(1);
    now = new Date(now.getTime() + 23 * 3_600_000);
    expect((await client.getStore(id)).status).toBe("completed");
    now = new Date(now.getTime() + 2 * 3_600_000);
    expect((await client.getStore(id)).status).toBe("expired");
    const refused = await client.send("POST", `/vector_stores/${id}/search`, { query: "llamas" });
    expect(refused.status).toBe(400);
    expect((await decodeError(refused)).message).toContain("has expired");
    // Something else to do has the queue look around.
    await client.taken((await client.store()).id, "bees");
    expect(await client.getStore(id)).toMatchObject({ status: "expired", file_counts: none });
    expect(await readdir(join(place, "collections"))).not.toContain(`${id}.sqlite`);
    expect(await app.registry.removals()).toEqual([]);
  });

  test("expires while the node does not run, but not because the registry is a backup that knows no later use", async () => {
    const weekAgo = new Date(Date.now() - 7 * 86_400_000);
    for (const isBackup of [true, false]) {
      await using data = await tempDir();
      let now = weekAgo;
      const documents = { folder: data.path, now: () => now };
      const first = await runningDocuments({ documents });
      const body = { expires_after: { anchor: "last_active_at", days: 1 } };
      const { id } = await first.client.store(body);
      await first.client.taken(id, "Llamas hum.");
      now = new Date();
      await first[Symbol.asyncDispose]();
      if (isBackup) {
        // The file is from now; a backup has nothing that is from then.
        using database = new Database(join(data.path, "documents.sqlite"));
        noteWrite(database, weekAgo.getTime());
      }
      await using running = await runningDocuments({ documents });
      const { client } = running;
      await client.taken("vs_default", "Goats bleat.");
      const status = isBackup ? "completed" : "expired";
      expect(await client.getStore(id)).toMatchObject({ status });
      if (!isBackup) continue;
      expect(await client.search(id, "llamas")).toHaveLength(1);
      now = new Date(now.getTime() + 2 * 86_400_000);
      expect(await client.getStore(id)).toMatchObject({ status: "expired" });
    }
  });
});

describe("a file that is added to a vector store", () => {
  test("is ingested in the background, and found once it is whole", async () => {
    const held = gate();
    const { client } = await start(held);
    const { id: store } = await client.store();
    const file = await client.file("# Llamas\n\nLlamas hum.", "llamas.md");
    const attributes = { language: "en", year: 2026, draft: false };
    const added = await client.add(store, { file_id: file, attributes });
    expect(added).toEqual({
      id: file,
      object: "vector_store.file",
      created_at: expect.any(Number),
      vector_store_id: store,
      filename: "llamas.md",
      status: "in_progress",
      last_error: null,
      usage_bytes: 0,
      bytes: 21,
      passages: 0,
      attributes,
      chunking_strategy: {
        type: "static",
        static: { max_chunk_size_tokens: 8, chunk_overlap_tokens: 0 },
      },
    });
    expect((await client.files(store)).data[0]?.bytes).toBe(21);
    await waitFor("a file to be begun", () => held.reached.length === 1);
    expect(await client.getStore(store)).toMatchObject({
      status: "in_progress",
      file_counts: { ...none, in_progress: 1, total: 1 },
    });
    expect(await client.search(store, "Llamas hum.")).toEqual([]);
    held.open();
    const taken = await client.settled(store, file);
    expect(taken).toMatchObject({ status: "completed", passages: 1, last_error: null });
    expect(await client.getStore(store)).toMatchObject({
      status: "completed",
      file_counts: { ...none, completed: 1, total: 1 },
      usage_bytes: taken.usage_bytes,
    });
    expect(await client.search(store, "Llamas hum.")).toEqual([
      {
        file_id: file,
        filename: "llamas.md",
        score: expect.any(Number),
        attributes,
        content: [{ type: "text", text: "Llamas\n\nLlamas hum." }],
      },
    ]);
    const content = await client.send("GET", `/vector_stores/${store}/files/${file}/content`);
    expect(await content.json()).toEqual({
      object: "vector_store.file_content.page",
      data: [{ type: "text", text: "Llamas\n\nLlamas hum." }],
      has_more: false,
      next_page: null,
    });
  });

  test.each([
    [
      "picture.png",
      "\u0089PNG",
      "unsupported_file",
      "The file is an image, and text in pictures is not read; run it through OCR",
    ],
    ["empty.md", "  \n ", "invalid_file", "The file holds no text"],
    ["broken.docx", "not a zip", "invalid_file", "The file is damaged or not a Word document"],
  ])("fails with a reason that a person understands: %s", async (name, text, code, message) => {
    const { client } = await start();
    const { id } = await client.store();
    const failed = await client.taken(id, text, name);
    expect(failed).toMatchObject({
      status: "failed",
      last_error: { code, message: expect.stringContaining(message) },
    });
    expect((await client.getStore(id)).file_counts).toEqual({ ...none, failed: 1, total: 1 });
  });

  test("stays when it is added again, with its new attributes; other cutting takes it in anew", async () => {
    const held = gate();
    held.open();
    const { client } = await start(held);
    const { id } = await client.store();
    const { id: file } = await client.taken(id, "one two three four five six seven eight nine ten");
    const again = await client.add(id, { file_id: file, attributes: { a: 1 } });
    expect(again).toMatchObject({ status: "completed", attributes: { a: 1 } });
    expect(held.reached).toHaveLength(1);
    expect((await client.getStore(id)).file_counts.total).toBe(1);
  });

  test.each([
    ["completed" as const, "llamas hum"],
    ["failed" as const, " "],
  ])(
    "keeps attributes that are changed while it is added again, %s before",
    async (status, text) => {
      const held = gate();
      held.open();
      const { app, client } = await start(held);
      const { id } = await client.store();
      const taken = await client.taken(id, text, "a.md", { attributes: { a: 1 } });
      expect(taken.status).toBe(status);
      const putStoreFiles = app.registry.putStoreFiles.bind(app.registry);
      app.registry.putStoreFiles = async (...args) => {
        await app.registry.changeAttributes(id, taken.id, { a: 2 });
        return await putStoreFiles(...args);
      };
      await client.add(id, { file_id: taken.id });
      expect(await client.settled(id, taken.id)).toMatchObject({ attributes: { a: 2 } });
    },
  );

  test("is counted in the metrics while it waits to be ingested", async () => {
    const held = gate();
    const { app, client } = await start(held);
    const queued = async (): Promise<number | undefined> =>
      sampleValue(
        parsePrometheus(await (await app.get("/metrics")).text()),
        "paddock_documents_queued",
      );
    expect(await queued()).toBe(0);
    const { id: store } = await client.store();
    for (const name of ["a.md", "b.md"]) {
      await client.add(store, { file_id: await client.file("llamas hum", name) });
    }
    expect(await queued()).toBe(2);
    held.open();
    await waitFor("both to be ingested", async () => (await queued()) === 0);
  });

  test("is another document than a second upload of the same file", async () => {
    const { client } = await start();
    const { id } = await client.store();
    const first = await client.taken(id, "llamas hum", "a.md");
    const second = await client.taken(id, "llamas hum", "a.md");
    const found = async () => (await client.search(id, "llamas hum")).map(({ file_id }) => file_id);
    expect((await found()).sort()).toEqual([first.id, second.id].sort());
    await client.send("DELETE", `/vector_stores/${id}/files/${first.id}`);
    expect(await found()).toEqual([second.id]);
  });

  test("is found nowhere any more once it is removed or deleted", async () => {
    const { client, app } = await start();
    const { id } = await client.store();
    const [removed, deleted] = [
      await client.taken(id, "llamas hum"),
      await client.taken(id, "llamas sing"),
    ];
    const gone = await client.send("DELETE", `/vector_stores/${id}/files/${removed.id}`);
    expect(await gone.json()).toEqual({
      id: removed.id,
      object: "vector_store.file.deleted",
      deleted: true,
    });
    expect((await client.search(id, "llamas")).map(({ file_id }) => file_id)).toEqual([deleted.id]);
    expect((await client.send("GET", `/files/${removed.id}`)).status).toBe(200);
    await client.send("DELETE", `/files/${deleted.id}`);
    expect(await client.search(id, "llamas")).toEqual([]);
    expect((await client.getStore(id)).file_counts).toEqual(none);
    expect(await app.registry.removals()).toEqual([]);
    expect((await client.send("GET", `/vector_stores/${id}/files/${deleted.id}`)).status).toBe(404);
  });

  test("is not added to a queue that is full", async () => {
    const held = gate();
    const { client } = await start({ ...held, maxQueue: 1 });
    const { id } = await client.store();
    const [first, second] = [await client.file("a"), await client.file("b")];
    await client.add(id, { file_id: first });
    const refused = await client.send("POST", `/vector_stores/${id}/files`, { file_id: second });
    expect(refused.status).toBe(503);
    expect(await decodeError(refused)).toMatchObject({ code: "queue_full" });
  });

  test("whose content cannot be read for now waits, and is not said to be gone", async () => {
    const { log, lines } = recordingLog();
    const { client, place } = await start({ log });
    const store = await client.store();
    const file = await client.file("# Notes\n\nLlamas hum.");
    const files = join(place, "files");
    await rename(files, `${files}.away`);
    // A link to itself cannot be followed by anyone, whatever their rights.
    await symlink(files, files);
    await client.add(store.id, { file_id: file });
    await waitFor("the file to be tried", () => lines.some(({ fields }) => fields.file === file));
    const refused = await client.send("GET", `/files/${file}/content`);
    expect(refused.status).toBe(503);
    expect((await decodeError(refused)).message).toContain("cannot be read: ELOOP");
    expect((await client.getFile(store.id, file)).status).toBe("in_progress");
  });

  test("fails where its passages are more than the node keeps", async () => {
    const quota = { node: { bytes: 0, passages: 1 } };
    const { client } = await start({ quota });
    const { id } = await client.store();
    expect(await client.taken(id, "llamas hum")).toMatchObject({ status: "completed" });
    expect(await client.taken(id, "bees buzz")).toMatchObject({
      status: "failed",
      last_error: { message: expect.stringContaining("documents.max_passages") },
    });
    expect(await client.search(id, "bees buzz")).toHaveLength(1);
  });

  test.each<[object, string]>([
    [{}, "file_id"],
    [{ file_id: "file-nobody" }, "file_id"],
    [{ attributes: { a: null } }, "attributes.a"],
    [{ attributes: { a: "x".repeat(513) } }, "attributes.a"],
    [{ chunking_strategy: { type: "static" } }, "chunking_strategy"],
    [
      {
        chunking_strategy: {
          type: "static",
          static: { max_chunk_size_tokens: 800, chunk_overlap_tokens: 400 },
        },
      },
      "chunking_strategy.static.max_chunk_size_tokens",
    ],
  ])("is not added as %j, which is named", async (body, param) => {
    const { client } = await start();
    const { id } = await client.store();
    const file = await client.file("text");
    const sent = Object.keys(body).length === 0 ? {} : { file_id: file, ...body };
    const refused = await client.send("POST", `/vector_stores/${id}/files`, sent);
    expect([400, 404]).toContain(refused.status);
    expect((await decodeError(refused)).param).toStartWith(param);
    expect((await client.getStore(id)).file_counts).toEqual(none);
  });
});

describe("files of a vector store", () => {
  test("are listed by their status, in pages", async () => {
    const { client } = await start();
    const { id } = await client.store();
    const ids = [];
    for (const text of ["a b", "c d", "e f"]) ids.push((await client.taken(id, text)).id);
    const bad = await client.taken(id, "", "nothing.md");
    const [a = "", b = "", c = ""] = ids;
    const list = async (query: string) => {
      const { data, has_more } = await client.files(id, query);
      return [data.map((file) => file.id), has_more];
    };
    expect(await list("")).toEqual([[bad.id, c, b, a], false]);
    expect(await list("filter=completed&limit=2")).toEqual([[c, b], true]);
    expect(await list(`filter=completed&limit=2&after=${b}`)).toEqual([[a], false]);
    expect(await list("filter=failed")).toEqual([[bad.id], false]);
    expect(await list("filter=in_progress")).toEqual([[], false]);
  });

  test("count callers in turn: somebody's many do not hold up another's one", async () => {
    const held = gate();
    const { client, app } = await start(held, { keys: ["first-key", "other-key"] });
    const [first, other] = [documentsClient(app, "first-key"), documentsClient(app, "other-key")];
    const { id } = await first.store();
    const many = await Promise.all(["a", "b", "c"].map((name) => first.file("x", `${name}.md`)));
    await first.batch(id, { file_ids: many });
    await waitFor("a file to be begun", () => held.reached.length === 1);
    await other.add(id, { file_id: await other.file("y", "theirs.md") });
    held.open();
    await waitFor("a file to be begun", () => held.reached.length === 4);
    expect(held.reached[1]).toBe("theirs.md");
    expect(client).toBeDefined();
  });

  test("of other callers are ingested while somebody's large one is", async () => {
    const held = gate();
    const { app } = await start(
      {
        beforeIngest: async (name, signal) => {
          if (name === "large.md") await held.beforeIngest(name, signal);
        },
      },
      { keys: ["first-key", "other-key"] },
    );
    const [first, other] = [documentsClient(app, "first-key"), documentsClient(app, "other-key")];
    const { id } = await first.store();
    const large = await first.file("llamas hum", "large.md");
    await first.add(id, { file_id: large });
    await waitFor("it to be begun", () => held.reached.length === 1);
    expect(await other.taken(id, "bees buzz")).toMatchObject({ status: "completed" });
    // A caller's own files come one after the other.
    const next = await first.file("cows moo", "next.md");
    await first.add(id, { file_id: next });
    expect(await other.taken(id, "crows caw")).toMatchObject({ status: "completed" });
    expect(await first.getFile(id, next)).toMatchObject({ status: "in_progress" });
    held.open();
    expect(await first.settled(id, next)).toMatchObject({ status: "completed" });
    expect(await first.getFile(id, large)).toMatchObject({ status: "completed" });
  });

  test("and what was said of the command line's are there again with a collection that was moved, or whose file was empty", async () => {
    await using data = await tempDir();
    const folder = join(data.path, "collections");
    const collections = new SqliteCollectionStore(folder, silentLog);
    {
      await using notes = await collections.create("notes", specOf(2));
      await notes.upsert([passage(1, [1, 1], { source: "Llamas hum.", document: "animals.md" })]);
    }
    const said = { name: "My notes", metadata: { team: "a" } };
    const attributes = { kind: "llama" };
    const describe = async (client: DocumentsClient) => ({
      stores: (await decode(pageSchema(VectorStore), await client.send("GET", "/vector_stores")))
        .data,
      files: (await client.files("vs_notes")).data,
    });
    const whole = { stores: [said, {}], files: [{ filename: "animals.md", attributes }] };
    const options = { documents: { folder: data.path } };
    {
      await using running = await runningDocuments(options);
      const { client } = running;
      const [file] = (await client.files("vs_notes")).data;
      await client.send("POST", "/vector_stores/vs_notes", said);
      await client.send("POST", `/vector_stores/vs_notes/files/${file?.id}`, { attributes });
      expect(await describe(client)).toMatchObject(whole);
    }
    await rename(folder, `${folder}.away`);
    {
      await using running = await runningDocuments(options);
      expect(await describe(running.client)).toMatchObject(whole);
    }
    await rename(`${folder}.away`, folder);
    // As a copy leaves it that was broken off.
    await rename(join(folder, "notes.sqlite"), join(folder, "notes.away"));
    await writeFile(join(folder, "notes.sqlite"), "");
    {
      await using running = await runningDocuments(options);
      expect(await describe(running.client)).toMatchObject(whole);
    }
    await rename(join(folder, "notes.away"), join(folder, "notes.sqlite"));
    await using running = await runningDocuments(options);
    expect(await describe(running.client)).toMatchObject(whole);
    await collections.drop("notes");
    expect((await running.client.send("GET", "/vector_stores")).status).toBe(200);
    expect((await running.client.send("GET", "/vector_stores/vs_notes")).status).toBe(404);
    // Made again by its program, also after it was deleted over HTTP.
    for (const way of ["GET", "DELETE", "GET"]) {
      if (way === "GET")
        await (await collections.create("notes", specOf(2)))[Symbol.asyncDispose]();
      expect((await running.client.send(way, "/vector_stores/vs_notes")).status).toBe(200);
    }
  });

  test("waits to make its collection while the others are away", async () => {
    await using running = await runningDocuments();
    const { client, app, place } = running;
    const folder = join(place, "collections");
    const collections = new SqliteCollectionStore(folder, silentLog);
    await using own = await collections.create("default", specOf(2));
    const prefixes = { queryPrefix: "", documentPrefix: "" };
    await app.documents.collections.attach("default", { repository: own, prefixes });
    await rename(folder, `${folder}.away`);
    const { id } = await client.store();
    const file = await client.file("Llamas hum.");
    await client.add(id, { file_id: file });
    const state = () => client.getFile(id, file);
    await waitFor("it to wait", async () => {
      const { status, last_error } = await state();
      return status === "completed" || last_error !== null;
    });
    expect(await state()).toMatchObject({
      status: "in_progress",
      last_error: { message: expect.stringContaining("gone from the disk") },
    });
    expect(await readdir(place)).not.toContain("collections");
    await rename(`${folder}.away`, folder);
    expect(await client.settled(id, file)).toMatchObject({ status: "completed" });
    expect(await client.search(id, "llamas")).toHaveLength(1);
  });

  test("ingests again what its collection lacks, as where that is from before its files", async () => {
    await using data = await tempDir();
    const folder = join(data.path, "collections");
    const options = { documents: { folder: data.path } };
    const first = await runningDocuments(options);
    const { id: store } = await first.client.store();
    const before = await first.client.taken(store, "Llamas hum.");
    const { id: deleted } = await first.client.store();
    await first.client.taken(deleted, "Goats hide.");
    await first[Symbol.asyncDispose]();
    await cp(folder, `${folder}.before`, { recursive: true });
    const second = await runningDocuments(options);
    const rest = { attributes: { kind: "goat" } };
    const { id: stored } = await second.client.taken(store, "Goats bleat.", "b.md", rest);
    const { id: lost } = await second.client.taken(store, "Goats jump.", "c.md");
    await second.client.send("DELETE", `/vector_stores/${store}/files/${before.id}`);
    await second.client.send("DELETE", `/vector_stores/${deleted}`);
    await second[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
    await rename(`${folder}.before`, folder);
    await rm(join(data.path, "files", lost));
    await using running = await runningDocuments(options);
    const { client } = running;
    await client.search(store, "goats");
    await waitFor("the files", async () => (await client.getFile(store, lost)).status === "failed");
    expect(await client.settled(store, stored)).toMatchObject({
      status: "completed",
      attributes: { kind: "goat" },
    });
    expect((await client.getFile(store, lost)).last_error?.message).toContain("upload it again");
    expect(await client.search(store, "goats")).toMatchObject([{ file_id: stored }]);
    expect((await client.send("GET", `/vector_stores/${deleted}`)).status).toBe(404);
  });

  /** A collection of the command line, to which a file was added over HTTP too. */
  async function filledByBoth() {
    const data = await tempDir();
    const collections = new SqliteCollectionStore(join(data.path, "collections"), silentLog);
    const fill = async () => {
      await using notes = await collections.create("notes", specOf(2));
      await notes.upsert([passage(1, [1, 1], { source: "Bees buzz.", document: "bees.md" })]);
    };
    await fill();
    const { client } = await start({ folder: data.path });
    const { id } = await client.taken("vs_notes", "Llamas hum.", "llamas.md");
    const found = async () => (await client.search("vs_notes", "q")).map(({ file_id }) => file_id);
    return { ...data, client, collections, fill, id, found };
  }

  test("ingests again what it lost as its collection was dropped and filled again beside it", async () => {
    await using filled = await filledByBoth();
    const { client, collections, fill, id, found } = filled;
    await collections.drop("notes");
    await fill();
    expect(await found()).not.toContain(id);
    const { data: files } = await client.files("vs_notes");
    expect(files).toMatchObject([{ filename: "bees.md" }, { filename: "llamas.md" }]);
    await waitFor("it to be found again", async () => (await found()).includes(id));
    expect(await client.getFile("vs_notes", id)).toMatchObject({ status: "completed" });
  });

  test("keeps files that were added to it, while its collection is dropped and not filled again yet", async () => {
    await using filled = await filledByBoth();
    const { client, collections, fill, id, found } = filled;
    await client.send("POST", `/vector_stores/vs_notes/files/${id}`, { attributes: { a: 1 } });
    await collections.drop("notes");
    expect((await client.send("GET", "/vector_stores")).status).toBe(200);
    expect((await client.files("vs_notes")).data).toMatchObject([{ filename: "llamas.md" }]);
    await fill();
    const names = async () => (await client.files("vs_notes")).data.map(({ filename }) => filename);
    expect(await names()).toEqual(["bees.md", "llamas.md"]);
    await waitFor("it to be found again", async () => (await found()).includes(id));
    expect(await client.getFile("vs_notes", id)).toMatchObject({ attributes: { a: 1 } });
    await client.send("DELETE", "/vector_stores/vs_notes");
    expect((await client.send("GET", "/vector_stores/vs_notes")).status).toBe(404);
  });

  test("stays deleted once its collection is back that was away when it was deleted", async () => {
    await using data = await tempDir();
    const folder = join(data.path, "collections");
    let now = new Date();
    const options = { documents: { folder: data.path, now: () => now } };
    const first = await runningDocuments(options);
    const { id: expiring } = await first.client.store({
      expires_after: { anchor: "last_active_at", days: 1 },
    });
    const { id: emptied } = await first.client.store();
    await first.client.taken(expiring, "Llamas hum.");
    const file = await first.client.taken(emptied, "Goats bleat.");
    await first[Symbol.asyncDispose]();
    await rename(folder, `${folder}.away`);
    const second = await runningDocuments(options);
    now = new Date(now.getTime() + 2 * 86_400_000);
    await waitFor("it to expire", async () => {
      return (await second.client.getStore(expiring)).file_counts.total === 0;
    });
    await second.client.send("DELETE", `/vector_stores/${emptied}/files/${file.id}`);
    const stores = [expiring, emptied];
    for (const id of stores) await second.client.send("DELETE", `/vector_stores/${id}`);
    await second[Symbol.asyncDispose]();
    await rename(`${folder}.away`, folder);
    await using running = await runningDocuments(options);
    const found = stores.map((id) => running.client.send("GET", `/vector_stores/${id}`));
    expect((await Promise.all(found)).map(({ status }) => status)).toEqual([404, 404]);
  });

  test("is not found by the name of another's collection or former id", async () => {
    await using data = await tempDir();
    const collections = new SqliteCollectionStore(join(data.path, "collections"), silentLog);
    const { client } = await start({ folder: data.path });
    const former = await client.store({ name: "former" });
    await client.send("DELETE", `/vector_stores/${former.id}`);
    await client.store({ name: "notes" });
    await client.store({ name: former.id });
    {
      await using notes = await collections.create("notes", specOf(2));
      await notes.upsert([passage(1, [1, 1], { source: "Llamas hum.", document: "animals.md" })]);
    }
    const find = async (collection: string) =>
      await client.send("POST", "/retrieve", {
        model: "vectors",
        messages: [{ role: "user", content: "Do llamas hum?" }],
        ...{ collection, score_threshold: 0 },
      });
    expect(await (await find("notes")).json()).toMatchObject({
      points: [{ source: "Llamas hum." }],
    });
    expect((await find(former.id)).status).toBe(404);
  });

  test("of the command line's documents are among the node's own collection's", async () => {
    const { client, app } = await start();
    await app.repository.upsert([
      passage(1, [1, 1], { source: "Llamas hum.", document: "animals.md" }),
      passage(2, [1, 2], { source: "Bees buzz.", document: "insects.md" }),
    ]);
    const { data } = await client.files("vs_default", "order=asc");
    expect(data).toMatchObject([
      {
        filename: "animals.md",
        status: "completed",
        passages: 1,
        chunking_strategy: { type: "other" },
      },
      { filename: "insects.md" },
    ]);
    const [animals] = data;
    if (animals === undefined) throw new Error("it was just listed");
    expect((await client.getStore("vs_default")).file_counts).toMatchObject({ completed: 2 });
    const path = `/vector_stores/vs_default/files/${animals.id}`;
    expect(await (await client.send("GET", `${path}/content`)).json()).toMatchObject({
      data: [{ type: "text", text: "Llamas hum." }],
    });
    await client.send("POST", path, { attributes: { kind: "llama" } });
    const filters = { type: "eq", key: "kind", value: "llama" };
    const found = await client.search("vs_default", "q", { filters });
    expect(found).toMatchObject([{ file_id: animals.id, attributes: { kind: "llama" } }]);
    expect((await client.send("GET", `/files/${animals.id}`)).status).toBe(404);
    await client.send("DELETE", path);
    expect(await app.repository.count()).toBe(1);
    expect((await client.files("vs_default")).data).toHaveLength(1);
    expect((await client.send("DELETE", "/vector_stores/vs_default")).status).toBe(400);
  });

  test("of the command line's keep their attributes while the node's own collection is another", async () => {
    const { client, app } = await start();
    const animals = passage(1, [1, 1], { source: "Llamas hum.", document: "animals.md" });
    await app.repository.upsert([animals]);
    const [file] = (await client.files("vs_default")).data;
    const attributes = { kind: "llama" };
    await client.send("POST", `/vector_stores/vs_default/files/${file?.id}`, { attributes });
    await app.repository.delete("animals.md");
    expect((await client.files("vs_default")).data).toEqual([]);
    expect((await client.getStore("vs_default")).file_counts).toMatchObject({ total: 0 });
    await app.repository.upsert([animals]);
    expect((await client.files("vs_default")).data).toMatchObject([
      { id: file?.id, attributes, passages: 1, status: "completed" },
    ]);
  });

  test("of a user's own take the handbook's place", async () => {
    const { client, app } = await start();
    await app.repository.upsert([passage(1, [1, 1], { document: "paddock:handbook/api.md" })]);
    await client.taken("vs_default", "llamas hum", "mine.md");
    const names = (await app.repository.documents()).map(({ name }) => name);
    expect(names).toEqual([expect.stringMatching(/^file-[0-9a-f]{24}\/mine\.md$/)]);
  });
});

describe("a batch of files", () => {
  test("says how far it is, and lists its files", async () => {
    const { client } = await start();
    const { id } = await client.store();
    const files = [
      await client.file("a b"),
      await client.file("c d"),
      await client.file("", "e.md"),
    ];
    const attributes = { batch: 1 };
    const batch = await client.batch(id, { file_ids: files, attributes });
    expect(batch.id).toMatch(/^vsfb_[0-9a-f]{24}$/);
    expect(batch).toMatchObject({
      object: "vector_store.files_batch",
      vector_store_id: id,
      file_counts: { total: 3 },
    });
    await waitFor(
      "the batch to end",
      async () => (await client.getBatch(id, batch.id)).status !== "in_progress",
    );
    expect(await client.getBatch(id, batch.id)).toMatchObject({
      status: "completed",
      file_counts: { in_progress: 0, completed: 2, failed: 1, cancelled: 0, total: 3 },
    });
    const list = await client.send(
      "GET",
      `/vector_stores/${id}/file_batches/${batch.id}/files?filter=completed&order=asc`,
    );
    expect(await list.json()).toMatchObject({
      data: [
        { id: files[0], attributes },
        { id: files[1], attributes },
      ],
      has_more: false,
    });
  });

  test("is cancelled: what is not ingested yet stays out, and leaves nothing", async () => {
    const held = gate();
    const { client, app } = await start(held);
    const { id } = await client.store();
    const files = await Promise.all(["a", "b", "c"].map((text) => client.file(text)));
    const batch = await client.batch(id, { file_ids: files });
    await waitFor("a file to be begun", () => held.reached.length === 1);
    const path = `/vector_stores/${id}/file_batches/${batch.id}/cancel`;
    expect(await (await client.send("POST", path)).json()).toMatchObject({
      status: "cancelled",
      file_counts: { ...none, cancelled: 3, total: 3 },
    });
    expect((await client.send("POST", path)).status).toBe(400);
    held.open();
    expect(await client.search(id, "a")).toEqual([]);
    expect(await app.registry.removals()).toEqual([]);
  });

  test.each<[object, string]>([
    [{}, "file_ids"],
    [{ file_ids: [] }, "file_ids"],
    [{ file_ids: ["file-nobody"] }, "file_ids[0]"],
    [{ files: [{ file_id: "file-nobody" }] }, "files[0].file_id"],
    [{ file_ids: ["a"], files: [{ file_id: "b" }] }, "files"],
    [{ files: [{ file_id: "b" }], attributes: { a: 1 } }, "attributes"],
  ])("is not made of %j, which is named", async (body, param) => {
    const { client } = await start();
    const { id } = await client.store();
    const refused = await client.send("POST", `/vector_stores/${id}/file_batches`, body);
    expect([400, 404]).toContain(refused.status);
    expect(await decodeError(refused)).toMatchObject({ param });
  });
});

describe("a vector store that is deleted while it is filled", () => {
  test("leaves nothing behind", async () => {
    const held = gate();
    const { client, app, place } = await start(held);
    const { id } = await client.store();
    const files = await Promise.all(["a", "b"].map((text) => client.file(text)));
    await client.batch(id, { file_ids: files });
    await waitFor("a file to be begun", () => held.reached.length === 1);
    expect((await client.send("DELETE", `/vector_stores/${id}`)).status).toBe(200);
    held.open();
    const other = await client.store();
    await client.taken(other.id, "later");
    const left = await readdir(join(place, "collections"));
    expect(left.filter((name) => !name.startsWith(other.id))).toEqual([]);
    expect(await app.registry.removals()).toEqual([]);
    expect((await client.send("GET", `/files/${files[0]}`)).status).toBe(200);
  });
});
