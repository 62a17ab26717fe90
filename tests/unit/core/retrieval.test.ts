import { describe, expect, test } from "bun:test";
import { ModelRegistry } from "../../../src/core/model.ts";
import type { ChatMessage } from "../../../src/core/ports/chat-engine.ts";
import type { SearchBounds } from "../../../src/core/ports/passage-repository.ts";
import { RetrievalService } from "../../../src/core/retrieval.ts";
import { SqliteRepository } from "../../../src/repository/sqlite/sqlite-repository.ts";
import { ScriptedEmbeddingEngine } from "../../support/scripted-engines.ts";
import { card } from "../../support/test-app.ts";

const user = (content: string): ChatMessage => ({ role: "user", content });

async function service(embeddingModel: string | undefined = "mapper") {
  const engine = new ScriptedEmbeddingEngine();
  const models = new ModelRegistry([
    { name: "mapper", type: "embedding" },
    { name: "other", type: "embedding" },
  ]);
  for (const name of ["mapper", "other"]) {
    models.add({
      type: "embedding",
      card: card(name, "embedding"),
      engine,
      fingerprint: "fp_1",
      [Symbol.asyncDispose]: async () => {},
    });
  }
  const retrieval = new RetrievalService(models, {
    name: "default",
    embeddingModel,
    url: "embedded",
    bounds: { limit: 3, scoreThreshold: 0.5 },
  });
  const repository = SqliteRepository.open({ path: ":memory:", collection: "x", dimension: 2 });
  const sources = ["a", "bb", "cccccc", "dddddddddddd"];
  const embeddings = await engine.embed(sources);
  await repository.upsert(
    sources.map((source, index) => ({
      id: `id-${index}`,
      source,
      document: "letters",
      vector: embeddings[index]?.vector ?? new Float32Array(2),
    })),
  );
  engine.requests.length = 0;
  const retrieve = (
    messages: ChatMessage[],
    bounds: Partial<SearchBounds> = {},
    model = "mapper",
  ) => retrieval.retrieve({ model, messages, bounds }, { signal: new AbortController().signal });
  return { engine, retrieval, repository, retrieve };
}

async function attached() {
  const made = await service();
  made.retrieval.attach(made.repository);
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
    });
  });

  test("is ready once its collection is attached, or when there is none to wait for", async () => {
    const { retrieval, repository } = await service();
    expect(retrieval.ready).toBe(false);
    retrieval.attach(repository);
    expect(retrieval.ready).toBe(true);
    const bounds = { limit: 1, scoreThreshold: 0 };
    const none = { name: "x", url: "embedded", embeddingModel: undefined, bounds };
    expect(new RetrievalService(new ModelRegistry([]), none).ready).toBe(true);
  });
});

describe("a query that cannot be answered", () => {
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
