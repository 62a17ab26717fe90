import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import OpenAI, { BadRequestError, NotFoundError, toFile } from "openai";
import { RetrieveResult } from "../../src/server/operations/retrieve/schema.ts";
import { decode } from "../support/decode.ts";
import { type QdrantUnderTest, qdrantForTests } from "../support/qdrant-server.ts";
import { rejectionOf } from "../support/rejection.ts";
import { type TinyNode, tinyNode } from "../support/tiny-node.ts";

const qdrant = qdrantForTests();

const quick = { pollIntervalMs: 20 };

interface Home {
  name: string;
  start(): Promise<{ env: Record<string, string> } & Partial<AsyncDisposable>>;
  skip: boolean;
}

const homes: Home[] = [
  { name: "SQLite", start: async () => ({ env: {} }), skip: false },
  {
    name: "Qdrant",
    skip: qdrant === undefined,
    async start() {
      if (qdrant === undefined) throw new Error("The test should have been skipped");
      const server: QdrantUnderTest = await qdrant.start();
      const { url, apiKey } = server;
      return {
        env: {
          PADDOCK_VECTORSTORE_URL: url,
          PADDOCK_COLLECTION: "paddock-test-documents",
          ...(apiKey === undefined ? {} : { PADDOCK_VECTORSTORE_API_KEY: apiKey }),
        },
        [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
      };
    },
  },
];

/** A text with a name, as programs upload it. */
const named = (text: string, name: string) => toFile(Buffer.from(text), name);

for (const home of homes) {
  describe.skipIf(home.skip)(`the openai package drives documents in ${home.name}`, () => {
    let node: TinyNode;
    let client: OpenAI;
    const resources = new AsyncDisposableStack();

    beforeAll(async () => {
      const started = await home.start();
      resources.defer(async () => await started[Symbol.asyncDispose]?.());
      node = resources.use(await tinyNode({ env: started.env }));
      client = new OpenAI({ baseURL: node.baseUrl, apiKey: "any" });
    });
    afterAll(async () => await resources.disposeAsync());

    const upload = async (text: string, name: string) =>
      await client.files.create({ file: await named(text, name), purpose: "assistants" });

    test("files: create, retrieve, list, content, delete", async () => {
      const file = await upload("Llamas hum.", "llamas.txt");
      expect(file).toMatchObject({ object: "file", bytes: 11, filename: "llamas.txt" });
      expect(await client.files.retrieve(file.id)).toEqual(file);
      const listed = await Array.fromAsync(client.files.list({ limit: 1 }));
      expect(listed.map(({ id }) => id)).toContain(file.id);
      expect(await (await client.files.content(file.id)).text()).toBe("Llamas hum.");
      expect(await client.files.delete(file.id)).toEqual({
        id: file.id,
        object: "file",
        deleted: true,
      });
      expect(await rejectionOf(client.files.retrieve(file.id))).toBeInstanceOf(NotFoundError);
    });

    test("vectorStores: create, retrieve, update, list, delete", async () => {
      const store = await client.vectorStores.create({ name: "notes", metadata: { team: "a" } });
      expect(store).toMatchObject({ name: "notes", status: "completed", metadata: { team: "a" } });
      const expires_after = { anchor: "last_active_at", days: 3 } as const;
      const updated = await client.vectorStores.update(store.id, { name: "other", expires_after });
      expect(updated).toMatchObject({ name: "other", expires_after });
      const another = await client.vectorStores.create({});
      const ids = (await Array.fromAsync(client.vectorStores.list({ limit: 1 }))).map(
        ({ id }) => id,
      );
      expect(ids).toContain(store.id);
      expect(ids).toContain(another.id);
      expect(ids.indexOf(another.id)).toBeLessThan(ids.indexOf(store.id));
      const back = await client.vectorStores.list({ before: store.id });
      expect(back.data.map(({ id }) => id)).toContain(another.id);
      expect(await client.vectorStores.delete(store.id)).toMatchObject({ deleted: true });
      expect(await rejectionOf(client.vectorStores.retrieve(store.id))).toBeInstanceOf(
        NotFoundError,
      );
      await client.vectorStores.delete(another.id);
    });

    test("vectorStores.files: uploadAndPoll, list, update, content, delete", async () => {
      const store = await client.vectorStores.create({ name: "files" });
      const text = "# Llamas\n\nLlamas hum.\n\n# Bees\n\nBees buzz.";
      const file = await client.vectorStores.files.uploadAndPoll(
        store.id,
        await named(text, "animals.md"),
        quick,
      );
      expect(file).toMatchObject({ status: "completed", last_error: null });
      expect(file.usage_bytes).toBeGreaterThan(0);
      const where = { vector_store_id: store.id };
      const content = await client.vectorStores.files.content(file.id, where);
      expect(content.data).toEqual([
        { type: "text", text: "Llamas\n\nLlamas hum." },
        { type: "text", text: "Bees\n\nBees buzz." },
      ]);
      const attributes = { language: "en", year: 2026 };
      const updated = await client.vectorStores.files.update(file.id, { ...where, attributes });
      expect(updated.attributes).toEqual(attributes);
      expect((await client.vectorStores.files.retrieve(file.id, where)).attributes).toEqual(
        attributes,
      );
      const failed = await client.vectorStores.files.uploadAndPoll(
        store.id,
        await named("GIF89a", "picture.gif"),
        quick,
      );
      expect(failed).toMatchObject({
        status: "failed",
        last_error: {
          code: "unsupported_file",
          message: expect.stringContaining("OCR"),
        },
      });
      const completed = await client.vectorStores.files.list(store.id, { filter: "completed" });
      expect(completed.data.map(({ id }) => id)).toEqual([file.id]);
      expect((await client.vectorStores.retrieve(store.id)).file_counts).toEqual({
        in_progress: 0,
        completed: 1,
        failed: 1,
        cancelled: 0,
        total: 2,
      });
      await client.vectorStores.files.delete(file.id, where);
      const { data } = await client.vectorStores.search(store.id, { query: "Llamas hum" });
      expect(data).toEqual([]);
      await client.vectorStores.delete(store.id);
    });

    test("vectorStores.fileBatches: uploadAndPoll, listFiles, cancel", async () => {
      const store = await client.vectorStores.create({});
      const files = await Promise.all(
        ["one", "two", "three"].map((word) => named(`The number ${word}.`, `${word}.txt`)),
      );
      const batch = await client.vectorStores.fileBatches.uploadAndPoll(store.id, { files }, quick);
      expect(batch).toMatchObject({ status: "completed", file_counts: { completed: 3, total: 3 } });
      const where = { vector_store_id: store.id };
      const listed = await Array.fromAsync(
        client.vectorStores.fileBatches.listFiles(batch.id, { ...where, limit: 2 }),
      );
      expect(listed).toHaveLength(3);
      const refused = client.vectorStores.fileBatches.cancel(batch.id, where);
      expect(await rejectionOf(refused)).toBeInstanceOf(BadRequestError);
      const more = await Promise.all(
        Array.from({ length: 20 }, async (_, at) => (await upload(`Text ${at}.`, `${at}.md`)).id),
      );
      const begun = await client.vectorStores.fileBatches.create(store.id, { file_ids: more });
      const cancelled = await client.vectorStores.fileBatches.cancel(begun.id, where);
      const { completed, cancelled: out, total, in_progress } = cancelled.file_counts;
      expect({ all: completed + out, total, in_progress }).toEqual({
        all: 20,
        total: 20,
        in_progress: 0,
      });
      const { data } = await client.vectorStores.search(store.id, {
        query: "Text",
        max_num_results: 50,
      });
      expect(new Set(data.map(({ file_id }) => file_id)).size).toBe(3 + completed);
      await client.vectorStores.delete(store.id);
    });

    test("search: filters on attributes, max_num_results, ranking_options, several queries", async () => {
      const store = await client.vectorStores.create({});
      const texts = [
        ["de", 2024],
        ["de", 2026],
        ["en", 2024],
        ["en", 2026],
      ] as const;
      const ids = new Map<string, string>();
      for (const [language, year] of texts) {
        const { id } = await upload(`A text about llamas, ${language} ${year}.`, "llamas.txt");
        ids.set(id, `${language} ${year}`);
        await client.vectorStores.files.create(store.id, {
          file_id: id,
          attributes: { language, year },
        });
        // As often as the node says.
        await client.vectorStores.files.poll(store.id, id);
      }
      const search = async (body: Partial<OpenAI.VectorStoreSearchParams>) => {
        const { data } = await client.vectorStores.search(store.id, { query: "llamas", ...body });
        return data.map(({ file_id }) => ids.get(file_id) ?? "").sort();
      };
      expect(await search({})).toEqual(["de 2024", "de 2026", "en 2024", "en 2026"]);
      expect(await search({ max_num_results: 2 })).toHaveLength(2);
      expect(await search({ filters: { type: "eq", key: "language", value: "de" } })).toEqual([
        "de 2024",
        "de 2026",
      ]);
      expect(
        await search({
          filters: {
            type: "and",
            filters: [
              { type: "gt", key: "year", value: 2024 },
              { type: "nin", key: "language", value: ["de"] },
            ],
          },
        }),
      ).toEqual(["en 2026"]);
      expect(await search({ filters: { type: "ne", key: "year", value: 2024 } })).toEqual([
        "de 2026",
        "en 2026",
      ]);
      expect(await search({ ranking_options: { score_threshold: 1, ranker: "none" } })).toEqual([]);
      const several = await client.vectorStores.search(store.id, { query: ["llamas", "text"] });
      expect(new Set(several.data.map(({ file_id }) => file_id)).size).toBe(several.data.length);
      for (const [body, param] of [
        [{ rewrite_query: true }, "rewrite_query"],
        [{ max_num_results: 51 }, "max_num_results"],
      ] as const) {
        const refused = client.vectorStores.search(store.id, { query: "llamas", ...body });
        expect(await rejectionOf(refused)).toMatchObject({ constructor: BadRequestError, param });
      }
      await client.vectorStores.delete(store.id);
    });

    test("a grounded chat and /v1/retrieve search vector stores as one", async () => {
      const stores = await Promise.all(
        ["llamas", "bees"].map(async (word) => {
          const store = await client.vectorStores.create({ name: `about-${word}` });
          await client.vectorStores.files.uploadAndPoll(
            store.id,
            await named(`All about ${word}.`, `${word}.txt`),
            quick,
          );
          return store.id;
        }),
      );
      const retrieve = async (rest: object) => {
        const response = await fetch(`${node.baseUrl}/retrieve`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({
            model: "tiny-embedding",
            messages: [{ role: "user", content: "All about bees" }],
            include_metadata: true,
            ...rest,
          }),
        });
        return response;
      };
      const points = async (rest: object) =>
        (await decode(RetrieveResult, await retrieve(rest))).points;
      const documents = (await points({ collection: stores })).map(
        ({ metadata }) => metadata?.document,
      );
      expect(documents.sort()).toEqual(["bees.txt", "llamas.txt"]);
      expect(await points({ collection: "about-bees" })).toMatchObject([
        { source: "All about bees.", metadata: { vector_store_id: stores[1] } },
      ]);
      expect(await points({})).toEqual([]);
      expect((await retrieve({ collection: "vs_nobody" })).status).toBe(404);
      const answer = await client.chat.completions.create({
        model: "tiny-chat",
        max_tokens: 4,
        messages: [{ role: "user", content: "All about bees" }],
        ...{ rag: { vector_store_ids: stores, score_threshold: 0.4 } },
      });
      expect(answer).toMatchObject({ retrieval: { points: [{}, {}] } });
      for (const id of stores) await client.vectorStores.delete(id);
    });
  });
}
