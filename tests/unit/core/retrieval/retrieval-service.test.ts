import { describe, expect, jest, test } from "bun:test";
import { theNode } from "../../../../src/core/documents/document-caller.ts";
import { NodeError } from "../../../../src/core/errors.ts";
import { ModelRegistry } from "../../../../src/core/models/model-registry.ts";
import type { ChatMessage } from "../../../../src/core/ports/chat-engine.ts";
import type { SearchBounds } from "../../../../src/core/ports/passage-repository.ts";
import type { Reranker } from "../../../../src/core/ports/reranker.ts";
import {
  type RetrievalBackend,
  RetrievalService,
  type RetrievalSettings,
} from "../../../../src/core/retrieval/retrieval-service.ts";
import { passage } from "../../../support/passages.ts";
import { rejectionOf } from "../../../support/rejection.ts";
import { ScriptedEmbeddingEngine } from "../../../support/scripted-engines.ts";
import { testDocuments } from "../../../support/test-documents.ts";
import { embeddingModel, memoryRepository, rerankingModel } from "../../../support/test-models.ts";

const scope = { caller: theNode };

const user = (content: string): ChatMessage => ({ role: "user", content });

const letters = ["a", "bb", "cccccc", "dddddddddddd"];

async function service(settings: Partial<RetrievalSettings> = {}) {
  const engine = new ScriptedEmbeddingEngine();
  const names = ["mapper", "other"];
  const models = new ModelRegistry([
    ...names.map((name) => ({ name, type: "embedding" }) as const),
    { name: "judge", type: "reranker" },
  ]);
  for (const name of names) models.add(embeddingModel(name, engine));
  const retrieval = new RetrievalService(
    models,
    {
      name: "default",
      embeddingModel: "mapper",
      url: "embedded",
      bounds: { limit: 3, scoreThreshold: 0.5 },
    },
    { mode: "dense", candidates: 50, ...settings },
  );
  testDocuments({ models, retrieval });
  const repository = memoryRepository(2);
  const embeddings = await engine.embed(letters);
  await repository.upsert(
    letters.map((source, index) =>
      passage(index, [...(embeddings[index]?.vector ?? [])], { source }),
    ),
  );
  engine.requests.length = 0;
  const retrieve = (
    messages: ChatMessage[],
    bounds: Partial<SearchBounds> = {},
    model = "mapper",
  ) =>
    retrieval.retrieve(
      { model, messages, bounds, scope },
      { signal: new AbortController().signal },
    );
  return { engine, models, retrieval, repository, retrieve };
}

async function attached(
  settings: Partial<RetrievalSettings> = {},
  backend: Partial<RetrievalBackend> = {},
) {
  const made = await service(settings);
  made.retrieval.attach({ repository: made.repository, queryPrefix: "", ...backend });
  return made;
}

describe("retrieval", () => {
  test("embeds the last user message alone", async () => {
    const { engine, retrieve } = await attached();
    await retrieve([
      { role: "system", content: "system" },
      user("first"),
      { role: "assistant", content: "answer" },
      user("last"),
      { role: "assistant", content: "afterthought" },
    ]);
    expect(engine.requests).toEqual(["last"]);
  });

  test("returns the best points within the node's bounds, and the bounds", async () => {
    const { retrieve } = await attached();
    const { points, bounds } = await retrieve([user("q")]);
    expect(points.map(({ source }) => source)).toEqual(["a", "bb", "cccccc"]);
    expect(bounds).toEqual({ limit: 3, scoreThreshold: 0.5 });
  });

  test.each<[Partial<SearchBounds>, SearchBounds, string[]]>([
    [{ limit: 1 }, { limit: 1, scoreThreshold: 0.5 }, ["a"]],
    [{ scoreThreshold: 0.9 }, { limit: 3, scoreThreshold: 0.9 }, ["a", "bb"]],
    [{ limit: 100 }, { limit: 3, scoreThreshold: 0.5 }, ["a", "bb", "cccccc"]],
    [{ scoreThreshold: 0 }, { limit: 3, scoreThreshold: 0.5 }, ["a", "bb", "cccccc"]],
    [{ scoreThreshold: -1, limit: 2 }, { limit: 2, scoreThreshold: 0.5 }, ["a", "bb"]],
  ])("lets a request narrow the bounds and never widen them: %j", async (wanted, bounds, found) => {
    const { retrieve } = await attached();
    const result = await retrieve([user("q")], wanted);
    expect({ ...result, points: result.points.map(({ source }) => source) }).toEqual({
      points: found,
      bounds,
      method: { mode: "dense", reranked: false },
      tokens: 1,
    });
  });

  test("has eight searches with a filter of one caller in progress, and none of who has left", async () => {
    const { retrieval } = await attached();
    const opened: (string | undefined)[] = [];
    const go = Promise.withResolvers<void>();
    retrieval.searchIn({
      check: async () => {},
      async *open({ caller }) {
        opened.push(caller.id);
        await go.promise;
        yield [];
      },
    });
    const client = new AbortController();
    const find = (id: string, { signal } = client) => {
      const scope = {
        caller: { id, called: id },
        filter: { key: "a", type: "eq", value: 1 } as const,
      };
      return retrieval.find("q", { limit: 1, scoreThreshold: 0 }, { signal }, scope);
    };
    const staying = new AbortController();
    const ada = Array.from({ length: 8 }, () => find("ada", staying));
    const waiting = [find("ada", staying), find("ada")];
    const bob = find("bob", staying);
    await Bun.sleep(1);
    expect(opened).toEqual([...Array.from({ length: 8 }, () => "ada"), "bob"]);
    client.abort(new Error("gone"));
    go.resolve();
    expect(await rejectionOf(waiting[1] ?? bob)).toMatchObject({ message: "gone" });
    await Promise.all([...ada, waiting[0], bob]);
    expect(opened.slice(9)).toEqual(["ada"]);
  });

  test("opens no more vector stores once its client has left", async () => {
    const { retrieval } = await attached();
    const client = new AbortController();
    let opened = 0;
    retrieval.searchIn({
      check: async () => {},
      async *open() {
        while (opened < 9) {
          if (++opened === 2) client.abort(new Error("gone"));
          yield [];
        }
      },
    });
    const { signal } = client;
    const found = retrieval.find("q", { limit: 1, scoreThreshold: 0 }, { signal }, scope);
    expect(await rejectionOf(found)).toMatchObject({ message: "gone" });
    expect(opened).toBe(2);
  });

  test("has no problem once its collection is attached, or when there is none to wait for", async () => {
    const { retrieval, repository } = await service();
    expect(await retrieval.problem()).toBe("The node's collection is still being prepared.");
    retrieval.unavailable(new NodeError("unavailable", "The store is away."));
    expect(await retrieval.problem()).toBe("The store is away.");
    retrieval.attach({ repository, queryPrefix: "" });
    expect(await retrieval.problem()).toBeUndefined();
    const bounds = { limit: 1, scoreThreshold: 0 };
    const none = { name: "x", url: "embedded", embeddingModel: undefined, bounds };
    const without = new RetrievalService(new ModelRegistry([]), none, {
      mode: "dense",
      candidates: 1,
    });
    expect(await without.problem()).toBeUndefined();
  });

  test("says what is wrong with a store that was there and is not any more", async () => {
    const { retrieval, repository } = await attached();
    await repository[Symbol.asyncDispose]();
    expect(await retrieval.problem()).toEqual(expect.any(String));
  });

  test("says so of a store that does not answer, and asks it once", async () => {
    const { retrieval, repository } = await attached({ patienceMs: 1 });
    const hanging = Promise.withResolvers<number>();
    let asked = 0;
    repository.count = () => {
      asked++;
      return hanging.promise;
    };
    for (const _ of [1, 2]) {
      expect(await retrieval.problem()).toStartWith("The node's collection does not answer.");
    }
    expect(asked).toBe(1);
    hanging.resolve(0);
    await hanging.promise;
    expect(await retrieval.problem()).toBeUndefined();
  });

  test("puts the collection's prefix before the question", async () => {
    const { engine, retrieve } = await attached({}, { queryPrefix: "query: " });
    await retrieve([user("q")]);
    expect(engine.requests).toEqual(["query: q"]);
    expect(await rejectionOf(retrieve([user("1 2 3 4 5 6 7 8")]))).toMatchObject({
      kind: "context_length_exceeded",
    });
  });
});

describe("hybrid search", () => {
  test("raises what shares words with the question, and never lowers a score", async () => {
    const dense = await (await attached()).retrieve([user("cccccc")]);
    const { points, method } = await (await attached({ mode: "hybrid" })).retrieve([
      user("cccccc"),
    ]);
    expect(method).toEqual({ mode: "hybrid", reranked: false });
    expect(points[0]?.source).toBe("cccccc");
    for (const { source, score } of dense.points) {
      const raised = points.find((point) => point.source === source)?.score ?? -1;
      if (source === "cccccc") expect(raised).toBeGreaterThanOrEqual(score);
      else expect(raised).toBeCloseTo(score, 6);
      expect(raised).toBeLessThanOrEqual(1 + 1e-6);
    }
  });

  test("finds by its words what vectors would not, and keeps to the bounds", async () => {
    const made = await attached({ mode: "hybrid", candidates: 2 });
    const far = passage(9, [-0.2, 1], { source: "a rare zebra" });
    await made.repository.upsert([far]);
    const bounds = { limit: 9, scoreThreshold: -1 };
    const options = { signal: new AbortController().signal };
    const found = await made.retrieval.find("zebra", bounds, options, scope);
    expect(found.points.map(({ source }) => source)).toContain("a rare zebra");
    const high = await made.retrieval.find(
      "zebra",
      { limit: 9, scoreThreshold: 0.99 },
      options,
      scope,
    );
    expect(high.points.every(({ score }) => score >= 0.99)).toBe(true);
  });

  test("is dense, and says so, where the collection cannot match words", async () => {
    const made = await service({ mode: "hybrid" });
    const wordless = new Proxy(made.repository, {
      get: (target, key) => {
        if (key === "matchesWords") return false;
        const value: unknown = Reflect.get(target, key);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    made.retrieval.attach({ repository: wordless, queryPrefix: "" });
    expect((await made.retrieve([user("q")])).method.mode).toBe("dense");
  });
});

describe("a reranking model", () => {
  const judge: Reranker = {
    maxTokens: 64,
    rank: async (_question, passages) => ({
      scores: passages.map((text) => (text === "cccccc" ? 1 : 0)),
      tokens: 8,
    }),
  };

  test("has half of the say in the score, and the threshold holds for the whole", async () => {
    const plain = await (await attached()).retrieve([user("q")]);
    const { models, retrieve } = await attached({ reranker: "judge" });
    models.add(rerankingModel("judge", judge));
    const { points, method } = await retrieve([user("q")]);
    const similarity = plain.points.find(({ source }) => source === "cccccc")?.score ?? 0;
    expect(method).toEqual({ mode: "dense", reranked: true });
    expect(points).toMatchObject([{ source: "cccccc" }]);
    expect(points[0]?.score).toBeCloseTo((similarity + 1) / 2, 6);
  });

  test("that is not there yet is waited for by the caller", async () => {
    const { retrieve } = await attached({ reranker: "judge" });
    expect(await rejectionOf(retrieve([user("q")]))).toMatchObject({ kind: "model_not_ready" });
  });

  test("is told to cut a question that is too long for it", async () => {
    const { models, retrieve } = await attached({ reranker: "judge" });
    const asked: unknown[] = [];
    const rank: Reranker["rank"] = async (question, passages, options) => {
      asked.push([question, options.cutsQuestion]);
      return await judge.rank(question, passages, options);
    };
    models.add(rerankingModel("judge", { ...judge, rank }));
    await retrieve([user("q")]);
    expect(asked).toEqual([["q", true]]);
  });
});

describe("a query that cannot be answered", () => {
  test("is told what is in the way, in its own kind", async () => {
    const { retrieve, retrieval } = await service();
    retrieval.unavailable(new NodeError("collection_mismatch", "It is another model's."));
    expect(await rejectionOf(retrieve([user("q")]))).toMatchObject({
      kind: "collection_mismatch",
      message: "It is another model's.",
    });
  });

  test("comes before the collection is attached", async () => {
    const { retrieve } = await service();
    await expect(retrieve([user("q")])).rejects.toMatchObject({ kind: "unavailable" });
  });

  test("names a model whose vectors the collection does not hold", async () => {
    const { engine, retrieve } = await attached();
    await expect(retrieve([user("q")], {}, "other")).rejects.toMatchObject({
      kind: "invalid_request",
      message:
        "The node's collection was filled with the embedding model 'mapper'; vectors of 'other' cannot be matched against it.",
      param: "model",
    });
    expect(engine.requests).toEqual([]);
  });

  test("is empty or over the model's context, and is named by its place", async () => {
    const { retrieve } = await attached();
    await expect(retrieve([user("first"), user("")])).rejects.toMatchObject({
      kind: "invalid_request",
      param: "messages[1].content",
    });
    await expect(retrieve([user("1 2 3 4 5 6 7 8 9")])).rejects.toMatchObject({
      kind: "context_length_exceeded",
      param: "messages[0].content",
    });
  });
});

test("passages that are being stored are waited for shortly, and not when storing takes long", async () => {
  const { coming } = (await service()).retrieval;
  const { signal } = new AbortController();
  const realNow = performance.now;
  let now = 0;
  jest.useFakeTimers();
  performance.now = () => now;
  try {
    coming.expect("The handbook is being stored.");
    let isOver = false;
    const first = coming.stored(signal).then(() => {
      isOver = true;
    });
    await Promise.resolve();
    expect(isOver).toBe(false);
    jest.advanceTimersByTime(10_000);
    await first;
    now = 60_000;
    // No timer fires any more.
    await coming.stored(signal);
  } finally {
    jest.useRealTimers();
    performance.now = realNow;
  }
});

test("a caller that leaves does not wait for passages that are being stored", async () => {
  const { coming } = (await service()).retrieval;
  coming.expect("The handbook is being stored.");
  const leave = new AbortController();
  const waiting = coming.stored(leave.signal);
  leave.abort(new Error("left"));
  await expect(waiting).rejects.toThrow("left");
});
