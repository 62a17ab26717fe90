import { describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import { NodeError } from "../../src/core/errors.ts";
import type { Residence } from "../../src/core/models/model.ts";
import {
  OllamaChatAnswer,
  OllamaGenerateAnswer,
} from "../../src/server/operations/ollama/answer-schema.ts";
import { OllamaEmbedAnswer } from "../../src/server/operations/ollama/embed.ts";
import {
  OllamaModel,
  OllamaModelList,
  OllamaRunningModels,
} from "../../src/server/operations/ollama/models.ts";
import { untilAborted } from "../support/aborted.ts";
import { decode } from "../support/decode.ts";
import { finish } from "../support/scripted-engines.ts";
import { testApp } from "../support/test-app.ts";
import { card, chatModel } from "../support/test-models.ts";
import { waitFor } from "../support/wait-for.ts";

const user = { role: "user", content: "Hello" };
const body = { model: "chatty", messages: [user] };
const text = (value: string) => ({ type: "text", text: value }) as const;

async function linesOf(response: Response): Promise<unknown[]> {
  const lines = (await response.text()).split("\n");
  // Clients read an empty line as JSON too, which it is not.
  expect(lines.pop()).toBe("");
  return lines.map((line): unknown => JSON.parse(line));
}

const problem = async (response: Response): Promise<unknown> => [
  response.status,
  await response.json(),
];

describe("/api/chat", () => {
  test("streams lines of JSON unless it is told not to", async () => {
    const app = testApp();
    app.chat.script(text("Hi "), text("there"), finish).script(text("Hi"), finish);
    const streamed = await app.post("/api/chat", body);
    expect(streamed.headers.get("content-type")).toBe("application/x-ndjson");
    const lines = await linesOf(streamed);
    expect(lines.every((line) => Value.Check(OllamaChatAnswer, line))).toBe(true);
    expect(lines).toMatchObject([
      { message: { content: "Hi " }, done: false },
      { message: { content: "there" }, done: false },
      { message: { content: "" }, done: true, done_reason: "stop", eval_count: 2 },
    ]);
    const whole = await app.post("/api/chat", { ...body, stream: false });
    expect(await decode(OllamaChatAnswer, whole)).toMatchObject({
      model: "chatty",
      message: { role: "assistant", content: "Hi" },
      done: true,
    });
  });

  test("takes a name with Ollama's tag, and repeats it", async () => {
    const app = testApp();
    app.chat.script(text("Hi"), finish);
    const asked = { ...body, model: "chatty:latest", stream: false };
    expect(await (await app.post("/api/chat", asked)).json()).toMatchObject({
      model: "chatty:latest",
    });
  });

  test("takes JSON of any content type, as curl sends it", async () => {
    const app = testApp();
    app.chat.script(text("Hi"), finish);
    const response = await app.handle(
      new Request("http://localhost/api/chat", {
        method: "POST",
        headers: { "content-type": "application/x-www-form-urlencoded" },
        body: JSON.stringify({ ...body, stream: false }),
      }),
    );
    expect(response.status).toBe(200);
  });

  test("of another site's page is rejected, whatever the content type", async () => {
    const headers = { "content-type": "text/plain", origin: "https://elsewhere.example" };
    const response = await testApp().handle(
      new Request("http://localhost/api/chat", {
        ...{ method: "POST", headers, body: JSON.stringify(body) },
      }),
    );
    expect(await problem(response)).toEqual([403, { error: expect.any(String) }]);
  });

  test("names the options that are not acted on", async () => {
    const app = testApp();
    app.chat.script(finish);
    const options = { num_ctx: 4096, mirostat: 0, num_thread: 2, speed: 1 };
    const response = await app.post("/api/chat", { ...body, keep_alive: "5m", options });
    expect(response.headers.get("x-paddock-ignored")).toBe(
      "keep_alive, options.num_ctx, options.speed",
    );
  });

  test("names the options that the model does not act on", async () => {
    const app = testApp();
    app.models.add({ ...chatModel("chatty", app.chat), ignores: ["minP"] });
    const options = { min_p: 0.1, top_p: 0.5 };
    for (const [path, asked] of [
      ["/api/chat", body],
      ["/api/generate", { model: "chatty", prompt: "Hello", raw: true }],
    ] as const) {
      app.chat.script(finish);
      const response = await app.post(path, { ...asked, options });
      expect(response.headers.get("x-paddock-ignored")).toBe("options.min_p");
    }
  });

  test("without messages says that the model is loaded, as one JSON body", async () => {
    const response = await testApp().post("/api/chat", { model: "chatty" });
    expect(await decode(OllamaChatAnswer, response)).toEqual({
      ...{ model: "chatty", created_at: expect.any(String), done: true, done_reason: "load" },
      message: { role: "assistant", content: "" },
    });
  });

  test("ends a stream that breaks off with a line that has the error", async () => {
    const app = testApp();
    app.chat.script(text("Hi"), new NodeError("timeout", "Too late."));
    expect(await linesOf(await app.post("/api/chat", body))).toMatchObject([
      { message: { content: "Hi" } },
      { error: "Too late." },
    ]);
  });

  test("stops generating when the client disconnects", async () => {
    const app = testApp();
    app.chat.script(text("Hi"), untilAborted);
    const { body: stream } = await app.post("/api/chat", body);
    await stream?.cancel();
    await waitFor("the end of the generation", () => app.chat.ended === 1);
  });

  test.each([
    [{ ...body, model: "nobody" }, 404, "model not found: The model 'nobody' is not on this node"],
    [{ ...body, model: "vectors" }, 400, "'vectors' does not support chat"],
    [
      { ...body, messages: [{ ...user, images: ["AA=="] }] },
      400,
      "'messages[0].images[0]' is an image",
    ],
    [{ ...body, options: { temperature: 9 } }, 400, "'options.temperature' must be"],
    [{ ...body, format: "yaml" }, 400, "'format' must be 'json' or a JSON Schema"],
    [{ model: "chatty", keep_alive: 0 }, 400, "'chatty' runs in the node's own process"],
    [{ messages: [user] }, 400, "'model' is required"],
    [{ ...body, messages: [{ role: "tool", content: "x" }] }, 400, "messages[0].tool_call_id"],
  ])("says in Ollama's form what is wrong: %j", async (asked, status, message) => {
    expect(await problem(await testApp().post("/api/chat", asked))).toEqual([
      status,
      { error: expect.stringContaining(message) },
    ]);
  });

  test("needs a key that opens chat, on a node with keys", async () => {
    const app = testApp({ keys: ["a-good-key"] });
    expect(await problem(await app.post("/api/chat", body))).toEqual([
      401,
      { error: expect.stringContaining("An API key is needed") },
    ]);
    app.chat.script(finish);
    const authorization = "Bearer a-good-key";
    expect((await app.post("/api/chat", body, { authorization })).status).toBe(200);
  });

  test("counts against the caller's limits", async () => {
    const app = testApp({ callerLimits: { requestsPerMinute: 1 } });
    app.chat.script(finish);
    await app.post("/api/chat", body);
    const refused = await app.post("/api/chat", body);
    expect(refused.headers.get("retry-after")).not.toBeNull();
    expect(await problem(refused)).toEqual([429, { error: expect.any(String) }]);
  });

  test("is a 503 while the model is being prepared", async () => {
    const response = await testApp({ unprepared: true }).post("/api/chat", body);
    expect(await problem(response)).toEqual([
      503,
      { error: expect.stringContaining("still being prepared") },
    ]);
  });
});

describe("/api/generate", () => {
  const asked = { model: "chatty", prompt: "Hello", stream: false };

  test("answers a prompt with the model's template", async () => {
    const app = testApp();
    app.chat.script(text("Hi"), finish);
    const response = await app.post("/api/generate", { ...asked, system: "Be brief." });
    expect(await decode(OllamaGenerateAnswer, response)).toMatchObject({
      ...{ response: "Hi", done: true, done_reason: "stop", context: [], prompt_eval_count: 3 },
    });
    expect(app.chat.requests).toMatchObject([
      { messages: [{ role: "system", content: "Be brief." }, user] },
    ]);
  });

  test("continues a raw prompt as it is, in a stream too", async () => {
    const app = testApp();
    app.chat.script(text(" you"), finish);
    const response = await app.post("/api/generate", { ...asked, raw: true, stream: true });
    const lines = await linesOf(response);
    expect(lines.every((line) => Value.Check(OllamaGenerateAnswer, line))).toBe(true);
    expect(lines).toMatchObject([
      { response: " you", done: false },
      { response: "", done: true },
    ]);
    expect(lines.at(-1)).not.toHaveProperty("context");
    expect(app.chat.completions).toMatchObject([{ prompt: "Hello" }]);
  });

  test("has the room of the model's own limit, raw or not", async () => {
    const app = testApp({ nPredict: 7 });
    app.chat.script(finish).script(finish);
    await app.post("/api/generate", asked);
    await app.post("/api/generate", { ...asked, raw: true });
    expect([...app.chat.requests, ...app.chat.completions]).toMatchObject([
      { maxTokens: 7 },
      { maxTokens: 7 },
    ]);
  });

  test("fills in before a suffix", async () => {
    const app = testApp();
    app.chat.script(text("mid"), finish);
    await app.post("/api/generate", { ...asked, suffix: "end" });
    expect(app.chat.completions).toMatchObject([{ prompt: "Hello", suffix: "end" }]);
  });

  test("without a prompt says that the model is loaded", async () => {
    const response = await testApp().post("/api/generate", { model: "chatty", prompt: "" });
    expect(await decode(OllamaGenerateAnswer, response)).toEqual({
      ...{ model: "chatty", created_at: expect.any(String), response: "" },
      ...{ done: true, done_reason: "load" },
    });
  });

  test.each([
    [{ template: "{{ .Prompt }}" }, "'template' cannot be honoured"],
    [{ context: [1, 2] }, "'context' cannot be honoured"],
    [{ images: ["AA=="] }, "'images[0]' is an image"],
    [{ raw: true, system: "a" }, "'system' cannot be combined with 'raw'"],
    [{ raw: true, images: ["AA=="] }, "'images' cannot be combined with 'raw'"],
    [{ width: 512 }, "'width' cannot be honoured"],
    [{ keep_alive: "0s", prompt: "" }, "'chatty' runs in the node's own process"],
  ])("rejects what it cannot do, by its name: %j", async (more, message) => {
    const response = await testApp().post("/api/generate", { ...asked, ...more });
    expect(await problem(response)).toEqual([400, { error: expect.stringContaining(message) }]);
  });
});

describe("/api/embed", () => {
  test.each([
    ["Hello", 1],
    [["Hello", "you"], 2],
    ["", 0],
    [[], 0],
  ])("has a vector for each text: %j", async (input, count) => {
    const response = await testApp().post("/api/embed", { model: "vectors:latest", input });
    const { embeddings, ...rest } = await decode(OllamaEmbedAnswer, response);
    expect(embeddings).toHaveLength(count);
    expect(rest).toMatchObject({ model: "vectors:latest", prompt_eval_count: count });
  });

  test("has shorter vectors if they are wanted", async () => {
    const asked = { model: "vectors", input: "Hello", dimensions: 1 };
    const response = await testApp().post("/api/embed", asked);
    expect(await response.json()).toMatchObject({ embeddings: [[1]] });
  });

  test.each([
    [{ model: "chatty", input: "a" }, 400, "does not support embeddings"],
    [{ model: "nobody", input: "a" }, 404, "model not found"],
    [{ model: "vectors", input: ["a", ""] }, 400, "input[1] is an empty string"],
    [{ model: "vectors", input: "a ".repeat(9), truncate: false }, 400, "input has 10 tokens"],
    [{ model: "vectors" }, 400, "'input' is required"],
  ])("says what is wrong: %j", async (asked, status, message) => {
    expect(await problem(await testApp().post("/api/embed", asked))).toEqual([
      status,
      { error: expect.stringContaining(message) },
    ]);
  });

  test("is a vector alone in the older operation", async () => {
    const app = testApp();
    const one = await app.post("/api/embeddings", { model: "vectors", prompt: "Hello" });
    expect(await one.json()).toEqual({ embedding: [expect.any(Number), expect.any(Number)] });
    const none = await app.post("/api/embeddings", { model: "vectors" });
    expect(await none.json()).toEqual({ embedding: [] });
  });
});

describe("what Ollama's clients ask about models", () => {
  const weights = {
    ...{ architecture: "qwen3", parameters: 1_720_000_000, quantization: "Q4_K_M" },
    ...{ bytes: 1_000_000, layers: 28, embeddingLength: 2048 },
  };

  /** An app whose chat model's file is known, with half of its layers on an accelerator. */
  const appOf = (more = {}) => {
    const app = testApp({ reranks: true });
    const known = { ...card("chatty", "chat"), weights, thinks: true, ...more };
    known.settings.nGpuLayers = 14;
    app.models.add(chatModel("chatty", app.chat, known));
    return app;
  };

  const details = {
    ...({ parent_model: "" } as const),
    ...{ format: "gguf", family: "qwen3", families: ["qwen3"] },
    ...{ parameter_size: "1.7B", quantization_level: "Q4_K_M" },
  };
  const listed = {
    ...{ name: "chatty:latest", model: "chatty:latest", size: 1_000_000, details },
    digest: expect.stringMatching(/^[0-9a-f]{64}$/),
  };

  test("are all but those that rerank, under names with a tag", async () => {
    const { models } = await decode(OllamaModelList, await appOf().get("/api/tags"));
    expect(models.map(({ name }) => name)).toEqual([
      "chatty:latest",
      "vectors:latest",
      "others:latest",
    ]);
    expect(models[0]).toEqual({ ...listed, modified_at: "2026-11-01T12:00:00.000Z" });
  });

  test("run while they are loaded, and until they are unloaded", async () => {
    const app = appOf();
    const unloadsAt = new Date("2026-11-17T18:00:00Z");
    const resident = (name: string, residence: Residence) =>
      app.models.add({ ...chatModel(name, app.chat), residence: () => residence });
    resident("chatty", { state: "loaded", bytes: 5_000_000, unloadsAt });
    resident("idle", { state: "unloaded" });
    const { models } = await decode(OllamaRunningModels, await app.get("/api/ps"));
    expect(models.map(({ name }) => name)).toEqual([
      "chatty:latest",
      "vectors:latest",
      "others:latest",
    ]);
    expect(models[0]).toMatchObject({ size: 5_000_000, expires_at: unloadsAt.toISOString() });
    const { models: all } = await decode(OllamaModelList, await app.get("/api/tags"));
    expect(all.map(({ name }) => name)).toContain("idle:latest");
  });

  test("are loaded by a request without a prompt, and unloaded by one with keep_alive 0", async () => {
    const app = testApp();
    const done: ("load" | "unload")[] = [];
    app.models.add({
      ...chatModel("chatty", app.chat),
      load: async () => void done.push("load"),
      unload: async () => void done.push("unload"),
    });
    for (const keep_alive of ["5m", 0, "0s"]) {
      const response = await app.post("/api/generate", { model: "chatty", keep_alive });
      const { done_reason: reason } = await decode(OllamaGenerateAnswer, response);
      expect(reason).toBe(done.at(-1));
    }
    expect(done).toEqual(["load", "unload", "unload"]);
    // With something to answer, the model stays, and the caller learns so.
    app.chat.script(text("Hi"), finish);
    const answered = await app.post("/api/chat", { ...body, stream: false, keep_alive: 0 });
    expect(answered.headers.get("x-paddock-ignored")).toBe("keep_alive");
    expect(done).toHaveLength(3);
  });

  test("run for ever, with their context and their share of an accelerator", async () => {
    const { models } = await decode(OllamaRunningModels, await appOf().get("/api/ps"));
    expect(models[0]).toEqual({
      ...listed,
      ...{ size_vram: 500_000, context_length: 128, expires_at: expect.stringMatching(/^2[1-9]/) },
    });
  });

  test.each([{ model: "chatty" }, { name: "chatty:latest" }, { model: "", name: "chatty" }])(
    "are shown by their name: %j",
    async (asked) => {
      const shown = await decode(OllamaModel, await appOf().post("/api/show", asked));
      expect(shown).toMatchObject({
        details,
        model_info: {
          ...{ "general.architecture": "qwen3", "general.parameter_count": 1_720_000_000 },
          ...{ "qwen3.context_length": 128, "qwen3.embedding_length": 2048 },
        },
        capabilities: ["completion", "tools", "thinking"],
        parameters: expect.stringMatching(/^num_ctx {24}128$/m),
      });
    },
  );

  test("that make vectors tell their length", async () => {
    expect(await (await appOf().post("/api/show", { model: "vectors" })).json()).toMatchObject({
      model_info: { "general.architecture": "upstream", "upstream.embedding_length": 2 },
      capabilities: ["embedding"],
    });
  });

  test("that are not there, or not named, are errors", async () => {
    const app = appOf();
    expect(await problem(await app.post("/api/show", { model: "nobody" }))).toEqual([
      404,
      { error: expect.stringContaining("model not found") },
    ]);
    expect(await problem(await app.post("/api/show", {}))).toEqual([
      400,
      { error: "'model' is required: a string." },
    ]);
  });

  test("include the version of the API", async () => {
    const version = await testApp().get("/api/version");
    expect(await version.json()).toEqual({ version: expect.stringMatching(/^\d+\.\d+\.\d+$/) });
  });

  test("are listed to everyone, as /v1/models is, on a node with keys, which tells its memory to callers with one", async () => {
    const app = testApp({ keys: ["a-good-key"] });
    const residence = (): Residence => ({ state: "loaded", bytes: 5_000_000 });
    app.models.add({ ...chatModel("chatty", app.chat), residence });
    const sizes = async (headers: Record<string, string>) =>
      (await decode(OllamaRunningModels, await app.get("/api/ps", headers))).models[0]?.size;
    expect(await sizes({ authorization: "Bearer a-good-key" })).toBe(5_000_000);
    expect(await sizes({})).not.toBe(5_000_000);
    for (const path of ["/api/tags", "/api/ps", "/api/version"]) {
      expect((await app.get(path)).status).toBe(200);
    }
    expect((await app.post("/api/show", { model: "chatty" })).status).toBe(401);
  });
});

describe("/api/pull", () => {
  const pulling = { source: "hf:o/r:Q4", label: "Downloading", completed: 5, total: 10 };

  test("pulls from the hub under Ollama's name for it, with progress in lines", async () => {
    const asked: string[] = [];
    const pulled = Promise.withResolvers<string>();
    const app = testApp({
      library: {
        pull: async (source, { onBegin }) => {
          asked.push(source);
          onBegin?.(pulling);
          return await pulled.promise;
        },
      },
    });
    const response = await app.post("/api/pull", { model: "hf.co/o/r:Q4" });
    pulled.resolve("r-Q4");
    expect(await linesOf(response)).toEqual([
      { status: "Downloading", digest: expect.stringMatching(/^sha256:/), total: 10, completed: 5 },
      { status: "success" },
    ]);
    expect(asked).toEqual(["hf:o/r:Q4"]);
  });

  test("does nothing for a model that the node has, with its tag or without", async () => {
    const app = testApp({
      library: { pull: async () => await Promise.reject(new Error("asked")) },
    });
    for (const model of ["chatty", "chatty:latest"]) {
      expect(await linesOf(await app.post("/api/pull", { model }))).toEqual([
        { status: "success" },
      ]);
    }
  });

  test("says in Ollama's form why it failed", async () => {
    const refused = new NodeError("invalid_request", "'source' must begin with 'hf:'.");
    const app = testApp({ library: { pull: async () => await Promise.reject(refused) } });
    expect(await problem(await app.post("/api/pull", { name: "hf.co/o/r" }))).toEqual([
      400,
      { error: "'source' must begin with 'hf:'." },
    ]);
    expect(await problem(await app.post("/api/pull", { name: "llama3.2" }))).toEqual([
      404,
      { error: expect.stringContaining("Name a place on the hub") },
    ]);
  });
});

describe("/api/delete", () => {
  const remove = (app: ReturnType<typeof testApp>, body: object): Promise<Response> =>
    app.handle(
      new Request("http://localhost/api/delete", { method: "DELETE", body: JSON.stringify(body) }),
    );

  test("removes a model by its name", async () => {
    const removed: string[] = [];
    const app = testApp({ library: { remove: async (name) => removed.push(name) } });
    expect((await remove(app, { model: "chatty:latest" })).status).toBe(200);
    expect(removed).toEqual(["chatty"]);
    expect(await problem(await remove(app, { model: "nobody" }))).toEqual([
      404,
      { error: expect.stringContaining("model not found") },
    ]);
  });
});

describe("/ of a node that looks like Ollama", () => {
  const get = (accept?: string, looksLikeOllama = true): Promise<Response> =>
    testApp({ looksLikeOllama }).get("/", accept === undefined ? {} : { accept });

  test.each([undefined, "*/*", "application/json"])(
    "says to a program that it is running: accept %j",
    async (accept) => {
      const response = await get(accept);
      expect(response.headers.get("vary")).toContain("accept");
      expect([response.status, await response.text()]).toEqual([200, "Ollama is running"]);
    },
  );

  test("answers HEAD, which its command line sends first", async () => {
    const request = new Request("http://localhost/", { method: "HEAD" });
    expect((await testApp({ looksLikeOllama: true }).handle(request)).status).toBe(200);
  });

  test("is the page to a browser, and to everyone where it is not wanted", async () => {
    const html = "text/html,application/xhtml+xml,*/*;q=0.8";
    for (const response of [await get(html), await get("*/*", false)]) {
      expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
      expect(response.headers.get("vary")).toBe("accept, accept-encoding");
    }
  });
});
