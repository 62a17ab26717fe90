import { afterAll, describe, expect, test } from "bun:test";
import { QdrantClient } from "@qdrant/js-client-rest";
import { QdrantCollectionStore } from "../../src/store/qdrant/qdrant-collections.ts";
import { collect } from "../support/collect.ts";
import { passage } from "../support/passages.ts";
import {
  type QdrantServer,
  type QdrantUnderTest,
  qdrantForTests,
  startQdrant,
} from "../support/qdrant-server.ts";
import { rejectionOf } from "../support/rejection.ts";
import { waitFor } from "../support/wait-for.ts";
import { contractSpec, passageRepositoryContract } from "./passage-repository.ts";

const qdrant = qdrantForTests();
// No server: the package that holds one is for Linux on x64, and none was named.
const run = describe.skipIf(qdrant === undefined);
// A server that was named is somebody's: it is not killed, paused or restarted.
const runWithOwn = describe.skipIf(!qdrant?.isOwn);

let started: Promise<QdrantUnderTest> | undefined;
const running = (): Promise<QdrantUnderTest> => {
  if (qdrant === undefined) throw new Error("The test should have been skipped");
  started ??= qdrant.start();
  return started;
};
afterAll(async () => (await started)?.[Symbol.asyncDispose]());

/** To be killed and paused; it runs when a test ends. */
async function ownServer(): Promise<QdrantServer> {
  const { server } = await running();
  if (server === undefined) throw new Error("The test should have been skipped");
  return server;
}

interface Place extends AsyncDisposable {
  store: QdrantCollectionStore;
  client: QdrantClient;
  name: string;
}

/** A name that is free, before and after. */
async function place(name: string): Promise<Place> {
  const { url, apiKey } = await running();
  const store = new QdrantCollectionStore({ url, ...(apiKey && { apiKey }) });
  const client = new QdrantClient({
    url,
    ...(apiKey && { headers: { "api-key": apiKey } }),
    checkCompatibility: false,
  });
  await store.drop(name);
  return { store, client, name, [Symbol.asyncDispose]: () => store.drop(name) };
}

passageRepositoryContract(
  "Qdrant",
  async () => {
    const { store, [Symbol.asyncDispose]: dispose } = await place("contract");
    const restart = async () => (await running()).server?.restart();
    return { store, restart, [Symbol.asyncDispose]: dispose };
  },
  { skip: qdrant === undefined },
);

const east = passage(1, [1, 0, 0]);
const north = passage(2, [0, 1, 0]);
const everything = { limit: 100, scoreThreshold: -1 };

run("Qdrant as a server that others use too", () => {
  test("is made once where two nodes make a collection at the same time", async () => {
    await using there = await place("paddock-test-race");
    const { url, apiKey } = await running();
    const stores = Array.from(
      { length: 6 },
      () => new QdrantCollectionStore({ url, ...(apiKey && { apiKey }) }),
    );
    for (let round = 0; round < 2; round++) {
      const made = await Promise.all(stores.map((store) => store.create(there.name, contractSpec)));
      await made[0]?.upsert([east]);
      for (const repository of made) expect(await repository.count()).toBe(1);
      await there.store.drop(there.name);
    }
  });

  test("has an index of documents, also where whoever made the collection did not get as far", async () => {
    await using there = await place("paddock-test-half-made");
    await using _made = await there.store.create(there.name, contractSpec);
    const isIndexed = async () =>
      (await there.client.getCollection(there.name)).payload_schema.document?.data_type;
    expect(await isIndexed()).toBe("keyword");
    await there.client.deletePayloadIndex(there.name, "document");
    expect(await isIndexed()).toBeUndefined();
    await using _again = await there.store.create(there.name, contractSpec);
    expect(await isIndexed()).toBe("keyword");
  });

  test("opens a collection that only holds texts, and leaves it as it is", async () => {
    await using there = await place("paddock-test-foreign");
    await there.client.createCollection(there.name, { vectors: { size: 3, distance: "Cosine" } });
    await there.client.upsert(there.name, {
      points: [
        { id: 7, vector: [1, 0, 0], payload: { source: "The llama." } },
        { id: 8, vector: [3, 3, 0], payload: { source: "The horse.", pages: [1, 2] } },
        { id: 9, vector: [1, 0, 0], payload: { text: "Not where it is looked for." } },
        { id: 10, vector: [1, 0, 0], payload: { source: 5 } },
      ],
    });
    await using repository = await there.store.create(there.name, contractSpec);
    expect(await repository.describe()).toEqual({
      name: there.name,
      dimension: 3,
      distance: "cosine",
      url: expect.any(String),
    });
    expect(repository.matchesWords).toBe(false);
    expect(await repository.matchWords("llama", east.vector, 5)).toEqual([]);
    const nothing = {
      document: "",
      heading: "",
      position: 0,
      hash: "",
      documentHash: "",
      parts: 0,
    };
    expect(await repository.search(east.vector, everything)).toEqual([
      { id: "7", source: "The llama.", ...nothing, score: 1 },
      { id: "8", source: "The horse.", ...nothing, score: expect.closeTo(Math.SQRT1_2, 5) },
    ]);
    expect(await repository.documents()).toEqual([]);
    expect((await collect(repository.passages())).map(({ id }) => id)).toEqual(["7", "8"]);
    expect((await there.client.getCollection(there.name)).payload_schema).toEqual({});

    await repository.upsert([{ ...north, id: "7" }, east]);
    expect(await repository.count()).toBe(5);
    expect(await repository.delete("a.md", new Set(["7"]))).toBe(1);
  });

  for (const distance of ["Dot", "Euclid", "Manhattan"] as const) {
    test(`gives cosines from a collection with a named vector of distance ${distance}`, async () => {
      await using there = await place(`paddock-test-${distance}`);
      await there.client.createCollection(there.name, { vectors: { text: { size: 3, distance } } });
      const stored = { id: 1, vector: { text: [2, 2, 0] }, payload: { source: "A" } };
      const without = { id: 2, vector: {}, payload: { source: "No vector" } };
      await there.client.upsert(there.name, { points: [stored, without] });
      await using repository = await there.store.open(there.name);
      await repository?.upsert([east, passage(3, [-1, 0, 0])]);
      expect(await repository?.describe()).toMatchObject({ distance: distance.toLowerCase() });
      const found = await repository?.search(east.vector, { limit: 9, scoreThreshold: 0.5 });
      expect(found?.map(({ id }) => id)).toEqual([east.id, "1"]);
      expect(found?.[1]?.score).toBeCloseTo(Math.SQRT1_2, 5);
      const passages = (await collect(repository?.passages() ?? none())).filter(
        ({ id }) => id === "1",
      );
      expect(passages[0]?.vector[0]).toBeCloseTo(Math.SQRT1_2, 5);
    });
  }

  test("says which collections cannot be searched", async () => {
    await using there = await place("paddock-test-several");
    const vectors = { a: { size: 3, distance: "Dot" }, b: { size: 3, distance: "Dot" } } as const;
    await there.client.createCollection(there.name, { vectors });
    expect(await rejectionOf(there.store.open(there.name))).toMatchObject({
      kind: "unavailable",
      message: expect.stringContaining("several dense vectors"),
    });
  });

  test("says what is the matter where a collection is gone, or cannot be made", async () => {
    await using there = await place("paddock-test-gone");
    await using repository = await there.store.create(there.name, contractSpec);
    await there.store.drop(there.name);
    expect(await rejectionOf(repository.search(east.vector, everything))).toMatchObject({
      kind: "unavailable",
      message: expect.stringContaining("doesn't exist"),
    });
    expect(await rejectionOf(there.store.create("a/b", contractSpec))).toMatchObject({
      message: expect.stringContaining("cannot contain"),
    });
  });

  test("refuses what the server cannot store before anything is stored", async () => {
    await using there = await place("paddock-test-unfit");
    await using repository = await there.store.create(there.name, contractSpec);
    const many = Array.from({ length: 600 }, (_, at) => passage(at, [1, at, 0]));
    for (const unfit of [
      { ...east, id: "not-a-uuid" },
      { ...east, vector: Float32Array.of(1, Number.NaN, 0) },
    ]) {
      expect(await rejectionOf(repository.upsert([...many, unfit]))).toMatchObject({
        kind: "invalid_request",
      });
    }
    expect(await repository.count()).toBe(0);
  });

  test("is searched and emptied in all of its shards", async () => {
    await using there = await place("paddock-test-shards");
    await there.client.createCollection(there.name, {
      vectors: { size: 3, distance: "Cosine" },
      sparse_vectors: { words: { modifier: "idf" } },
      shard_number: 4,
    });
    await using repository = await there.store.open(there.name);
    if (repository === undefined) throw new Error("it was just made");
    const many = Array.from({ length: 600 }, (_, at) =>
      passage(at, [Math.sin(at), Math.cos(at), 1], { parts: 600, source: `Number ${at}` }),
    );
    await repository.upsert(many);
    expect(await collect(repository.passages())).toHaveLength(600);
    expect(await repository.documents()).toMatchObject([{ name: "a.md", passages: 600 }]);
    for (const at of [0, 123, 599]) {
      const vector = many[at]?.vector ?? east.vector;
      const [nearest] = await repository.search(vector, everything);
      expect(nearest?.id).toBe(many[at]?.id ?? "");
      const [matched] = await repository.matchWords(String(at), vector, 3);
      expect(matched?.id).toBe(many[at]?.id ?? "");
    }
    expect(await repository.delete("a.md")).toBe(600);
  });

  test("makes the words anew of a collection that an older version filled", async () => {
    await using there = await place("paddock-test-older");
    {
      await using repository = await there.store.create(there.name, contractSpec);
      await repository.upsert([
        { ...east, source: "图书馆上午九点开门。" },
        { ...north, source: "医院在城市的北边。" },
      ]);
    }
    // As it was before words had a form: other words, and nothing that says which.
    await there.client.updateVectors(there.name, {
      points: [east, north].map(({ id }) => ({
        id,
        vector: { words: { indices: [1], values: [1] } },
      })),
      wait: true,
    });
    await there.client.updateCollection(there.name, { metadata: { words: null } });
    await using repository = await there.store.open(there.name);
    expect(await repository?.matchWords("图书馆", east.vector, 3)).toMatchObject([{ id: east.id }]);
    const { config } = await there.client.getCollection(there.name);
    expect(config.metadata).toMatchObject({ words: 2, embedding: expect.anything() });
  });

  test("lowers a passage's share of the words by those that no passage has", async () => {
    await using there = await place("paddock-test-words");
    await using repository = await there.store.create(there.name, contractSpec);
    await repository.upsert([
      { ...east, source: "Llamas live in the Andes" },
      { ...north, source: "Horses live in the plains" },
      passage(3, [0, 0, 1], { source: "?!" }),
    ]);
    const shareOf = async (text: string) =>
      (await repository.matchWords(text, east.vector, 1))[0]?.words ?? 0;
    expect(await shareOf("llamas")).toBeCloseTo(1, 5);
    expect(await shareOf("Llama llama LLAMA")).toBeCloseTo(1, 5);
    expect(await shareOf("llamas zeppelin")).toBeCloseTo(0.5, 5);
    expect(await shareOf("llamas horses")).toBeCloseTo(0.5, 5);
    expect(await shareOf("in the Andes")).toBeGreaterThan(0.9);
    const long = Array.from({ length: 500 }, (_, at) => `word${at}`).join(" ");
    expect(await shareOf(`andes ${long}`)).toBeGreaterThan(0);
  });
});

/** Longer than a test may take: who gives up before does not wait for the server. */
const patient = 300_000;

/** What a store answers that gives up sooner than a busy machine can answer. */
async function answerOf<Answer>(ask: () => Promise<Answer | undefined>): Promise<Answer> {
  let answer: Answer | undefined;
  await waitFor("an answer", async () => {
    answer = await ask().catch((error: unknown) => {
      expect(error).toMatchObject({ kind: "unavailable" });
      return undefined;
    });
    return answer !== undefined;
  });
  if (answer === undefined) throw new Error("There is no answer");
  return answer;
}

runWithOwn("Qdrant as a server that fails", () => {
  test("has after a crash what it acknowledged before", async () => {
    const server = await ownServer();
    const store = new QdrantCollectionStore({ url: server.url, timeoutMs: patient });
    await using repository = await store.create("crash", contractSpec);
    const acknowledged: string[] = [];
    const writing = (async () => {
      for (let at = 0; ; at++) {
        const batch = [passage(2 * at, [1, at, 0]), passage(2 * at + 1, [1, 0, at])];
        await repository.upsert(batch);
        acknowledged.push(...batch.map(({ id }) => id));
      }
    })();
    const failed = rejectionOf(writing);
    await waitFor("100 passages", () => acknowledged.length >= 100);
    await server.kill();
    expect(await failed).toMatchObject({ kind: "unavailable" });
    await server.start();
    const stored = new Set((await collect(repository.passages())).map(({ id }) => id));
    expect(acknowledged.filter((id) => !stored.has(id))).toEqual([]);
    expect(acknowledged.length).toBeGreaterThanOrEqual(100);
  });

  test("is said to be away without a wait for it, and used again when it is back", async () => {
    const server = await ownServer();
    const store = new QdrantCollectionStore({ url: server.url, timeoutMs: patient });
    await using repository = await store.create("away", contractSpec);
    await repository.upsert([east]);
    await server.kill();
    const refusals = await Promise.all(
      [
        repository.search(east.vector, everything),
        repository.matchWords("passage", east.vector, 3),
        repository.upsert([north]),
        repository.delete("a.md"),
        repository.count(),
        store.open("away"),
        store.list(),
      ].map(rejectionOf),
    );
    for (const refusal of refusals) {
      expect(refusal).toMatchObject({
        kind: "unavailable",
        message: expect.stringMatching(
          /^Qdrant at http:\/\/127\.0\.0\.1:\d+ cannot be reached \(.*\)\. Check that it is running/,
        ),
      });
    }
    await server.start();
    expect(await repository.search(east.vector, everything)).toHaveLength(1);
    await repository.upsert([north]);
    expect(await repository.count()).toBe(2);
  });

  test("is asked anew where it was restarted under open connections", async () => {
    const server = await ownServer();
    const store = new QdrantCollectionStore({ url: server.url, timeoutMs: patient });
    await using repository = await store.create("restarted", contractSpec);
    await repository.upsert([east, north]);
    await server.restart();
    expect(await repository.count()).toBe(2);
  });

  test("does not hang its callers when it stands still", async () => {
    const server = await ownServer();
    const { url } = server;
    const store = new QdrantCollectionStore({ url, timeoutMs: patient });
    await using made = await store.create("paused", contractSpec);
    await made.upsert([east]);
    const hurried = new QdrantCollectionStore({ url, timeoutMs: 200 });
    await using repository = await answerOf(() => hurried.open("paused"));
    server.pause();
    expect(await rejectionOf(repository.search(east.vector, everything))).toMatchObject({
      kind: "unavailable",
      message: expect.stringContaining("did not answer within 0.2 s"),
    });
    expect(await rejectionOf(repository.upsert([north]))).toMatchObject({ kind: "unavailable" });
    server.resume();
    expect(await answerOf(() => repository.search(east.vector, everything))).not.toHaveLength(0);
  });

  test("is opened with its key, and says what to do without, never showing a key", async () => {
    await using server = await startQdrant({ apiKey: "right-key" });
    const { url } = server;
    expect(await new QdrantCollectionStore({ url, apiKey: "right-key" }).list()).toEqual([]);
    const wrong = await rejectionOf(new QdrantCollectionStore({ url, apiKey: "wrong-key" }).list());
    expect(wrong).toMatchObject({
      kind: "unavailable",
      message: expect.stringContaining("refuses the API key (401)"),
    });
    expect(Bun.inspect(wrong)).not.toContain("wrong-key");
    expect(await rejectionOf(new QdrantCollectionStore({ url }).open("any"))).toMatchObject({
      kind: "unavailable",
      message: expect.stringContaining("asks for an API key"),
    });
  });
});

async function* none(): AsyncGenerator<never> {}
