import { describe, expect, jest, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import { NodeError } from "../../src/core/errors.ts";
import { nextTurn } from "../../src/core/turns.ts";
import { ChatCompletion, ChatCompletionChunk } from "../../src/server/operations/chat/schema.ts";
import { decode, decodeError } from "../support/decode.ts";
import { passage } from "../support/passages.ts";
import { finish } from "../support/scripted-engines.ts";
import { readFrames } from "../support/sse.ts";
import { type TestApp, type TestAppOptions, testApp } from "../support/test-app.ts";
import { chatModel } from "../support/test-models.ts";

const path = "/v1/chat/completions";
const body = { model: "chatty", messages: [{ role: "user", content: "q" }] };
const text = { type: "text", text: "Hum [1]" } as const;

async function filledApp(options: TestAppOptions = {}): Promise<TestApp> {
  const app = testApp(options);
  await app.repository.upsert([
    passage(1, [1, 1], { source: "Llamas hum.", document: "animals.md" }),
    passage(2, [1.1, 1], { source: "Roses bloom.", document: "", heading: "" }),
  ]);
  return app;
}

const retrieval = {
  points: [
    {
      source: "Llamas hum.",
      score: expect.any(Number),
      metadata: {
        id: "00000000-0000-4000-8000-000000000001",
        document: "animals.md",
        heading: "Heading",
        position: 1,
        file_id: expect.stringMatching(/^file-doc-[0-9a-f]{24}$/),
        vector_store_id: "vs_default",
      },
    },
    {
      source: "Roses bloom.",
      score: expect.any(Number),
      metadata: {
        id: "00000000-0000-4000-8000-000000000002",
        document: null,
        heading: null,
        position: 2,
        file_id: null,
        vector_store_id: "vs_default",
      },
    },
  ],
  dropped: 0,
};

describe("a grounded answer", () => {
  test("says that passages are still coming, as long as they are", async () => {
    const app = await filledApp({ rag: { policy: "last-user-message" } });
    app.retrieval.coming.expect("Passages are still coming.");
    app.chat.script(text, finish);
    const early = await decode(ChatCompletion, await app.post(path, body));
    expect(early.retrieval).toEqual({ ...retrieval, notice: "Passages are still coming." });
  });

  test("carries what it was grounded in", async () => {
    const app = await filledApp({ rag: { policy: "last-user-message" } });
    app.chat.script(text, finish);
    const answer = await decode(ChatCompletion, await app.post(path, body));
    expect(answer.retrieval).toEqual(retrieval);
    expect(app.chat.requests[0]?.messages).toEqual([
      {
        role: "user",
        content: "[1] animals.md\nLlamas hum.\n\n[2] Roses bloom.\n\nUse these.\n\nq",
      },
    ]);
  });

  test("ends where the model repeats what it was told, but for JSON", async () => {
    const prompt = "Answer from the passages above, briefly.";
    const app = await filledApp({ rag: { policy: "last-user-message", prompt } });
    const stopOf = async (more: object) => {
      app.chat.script(text, finish);
      await app.post(path, { ...body, ...more });
      return app.chat.requests.at(-1)?.stop;
    };
    expect(await stopOf({})).toEqual(["Answer from the passage"]);
    expect(await stopOf({ stop: "x" })).toEqual(["x", "Answer from the passage"]);
    expect(await stopOf({ rag: false })).toBeUndefined();
    expect(await stopOf({ response_format: { type: "json_object" } })).toBeUndefined();
  });

  test.each([
    [{}, 1],
    [{ stream_options: { include_usage: true } }, 1],
    [{ n: 2 }, 2],
  ])("carries it in the last chunk and nowhere else: %j", async (more, answers) => {
    const app = await filledApp({ rag: { policy: "system-message" } });
    for (let at = 0; at < answers; at++) app.chat.script(text, finish);
    const response = await app.post(path, { ...body, ...more, stream: true });
    const frames = await readFrames(response);
    expect(frames.at(-1)).toBe("[DONE]");
    const chunks = frames
      .slice(0, -1)
      .map((frame) => Value.Decode(ChatCompletionChunk, JSON.parse(frame)));
    expect(chunks.at(-1)?.retrieval).toEqual(retrieval);
    expect(chunks.slice(0, -1).filter((chunk) => "retrieval" in chunk)).toEqual([]);
  });

  test("is what a request asks for where the node is not set to, and the reverse", async () => {
    const off = await filledApp();
    off.chat.script(finish).script(finish);
    expect(await decode(ChatCompletion, await off.post(path, body))).not.toHaveProperty(
      "retrieval",
    );
    const asked = await decode(ChatCompletion, await off.post(path, { ...body, rag: true }));
    expect(asked.retrieval).toEqual(retrieval);
    const on = await filledApp({ rag: { policy: "last-user-message" } });
    on.chat.script(finish);
    const declined = await decode(ChatCompletion, await on.post(path, { ...body, rag: false }));
    expect(declined).not.toHaveProperty("retrieval");
    expect(on.embedding.requests).toEqual([]);
  });

  test.each([["auto" as const], [{ auto: true }]])(
    "is left to the node with %j: from passages that clearly match, or as any other",
    async (rag) => {
      const app = await filledApp({ rag: { autoThreshold: 0.999 } });
      app.chat.script(finish).script(finish);
      const about = await decode(ChatCompletion, await app.post(path, { ...body, rag }));
      expect(about.retrieval?.points).toMatchObject([{ source: "Llamas hum." }]);
      const messages = [{ role: "user", content: "a question of another kind" }];
      const other = await decode(ChatCompletion, await app.post(path, { ...body, messages, rag }));
      expect(other).not.toHaveProperty("retrieval");
    },
  );

  test("waits for passages that are being stored, where it is left to the node", async () => {
    const app = testApp();
    app.retrieval.coming.expect("The handbook is being stored.");
    app.chat.script(finish);
    const asked = app.post(path, { ...body, rag: "auto" });
    await Bun.sleep(0);
    await app.repository.upsert([passage(1, [1, 1], { source: "Llamas hum." })]);
    app.retrieval.coming.expect(undefined);
    const { retrieval: found } = await decode(ChatCompletion, await asked);
    expect(found).toMatchObject({ points: [{ source: "Llamas hum." }] });
    expect(found).not.toHaveProperty("notice");
  });

  test("says that passages are still being stored, where none matches and it is left to the node", async () => {
    const app = await filledApp({ rag: { autoThreshold: 0.999 } });
    app.retrieval.coming.expect("The handbook is being stored.");
    app.retrieval.coming.stored = async () => {};
    app.chat.script(finish);
    const messages = [{ role: "user", content: "a question of another kind" }];
    const answer = await app.post(path, { ...body, messages, rag: "auto" });
    expect((await decode(ChatCompletion, answer)).retrieval).toMatchObject({
      points: [],
      notice: "The handbook is being stored.",
    });
    expect(app.chat.requests[0]?.messages).toMatchObject(messages);
  });

  test("is narrowed by a request", async () => {
    const app = await filledApp({ rag: { policy: "last-user-message", contextWindow: 2 } });
    app.chat.script(finish);
    const rag = { limit: 1, score_threshold: 0.9, context_window: 2, policy: "system-message" };
    const answer = await decode(ChatCompletion, await app.post(path, { ...body, rag }));
    expect(answer.retrieval?.points).toHaveLength(1);
    expect(app.chat.requests[0]?.messages[0]?.role).toBe("system");
  });

  test("says how many passages did not fit", async () => {
    const app = await filledApp({ rag: { policy: "last-user-message" } });
    app.chat.contextSize = 9;
    app.chat.script(finish);
    const answer = await decode(ChatCompletion, await app.post(path, body));
    expect(answer.retrieval).toMatchObject({ points: [{ source: "Llamas hum." }], dropped: 1 });
  });

  test("comes without passages where retrieval fails, and says so", async () => {
    const app = testApp({ rag: { policy: "last-user-message" } });
    await app.repository[Symbol.asyncDispose]();
    app.chat.script(text, finish);
    const response = await app.post(path, body);
    expect(response.status).toBe(200);
    expect((await decode(ChatCompletion, response)).retrieval).toEqual({
      points: [],
      dropped: 0,
      error: "Retrieval failed.",
    });
  });

  test.each([
    [{ rag: "yes" }, "rag"],
    [{ rag: { policy: "sometimes" } }, "rag.policy"],
    [{ rag: { auto: "yes" } }, "rag.auto"],
    [{ rag: { limit: 0 } }, "rag.limit"],
    [{ rag: { score_threshold: 2 } }, "rag.score_threshold"],
    [{ rag: { context_window: 0.5 } }, "rag.context_window"],
    [{ rag: { context_window: 2 } }, "rag.context_window"],
  ])("is refused by the field that is wrong: %j", async (wrong, param) => {
    const response = await testApp().post(path, { ...body, ...wrong });
    expect(response.status).toBe(400);
    expect((await decodeError(response)).param).toBe(param);
  });

  test("names fields of rag that are not acted on", async () => {
    const app = await filledApp();
    app.chat.script(finish);
    const response = await app.post(path, { ...body, rag: { treshold: 1 } });
    expect(response.headers.get("x-paddock-ignored")).toBe("rag.treshold");
  });
});

describe("a streamed answer whose retrieval waits for a model", () => {
  const asked = { model: "chatty", messages: body.messages, stream: true, rag: true };
  const response = { model: "chatty", input: "q", stream: true, rag: true };

  /** A stream that began while the embedding model was loading, so that comments keep it alive. */
  async function whileLoading(path: string, request: object) {
    const app = await filledApp();
    app.models.add({ ...chatModel("chatty", app.chat), ignores: ["minP"] });
    const begun = Promise.withResolvers<void>();
    const load = Promise.withResolvers<void>();
    app.embedding.line = () => {
      begun.resolve();
      return load.promise;
    };
    app.chat.script(text, finish);
    jest.useFakeTimers();
    const answered = app.post(path, request);
    await begun.promise;
    jest.advanceTimersByTime(5000);
    jest.useRealTimers();
    // The load does not end, so a stream that waits for it would not be there after any turn.
    const stream = await Promise.race([answered, Bun.sleep(0).then(nextTurn)]);
    if (stream === undefined) throw new Error("The stream waits for the load.");
    return { app, load, stream };
  }

  test.each([
    [path, asked, "Llamas hum."],
    [path, { ...asked, rag: "auto" }, "Llamas hum."],
    ["/v1/responses", response, "response.completed"],
    ["/v1/messages", { ...asked, max_tokens: 9 }, "Llamas hum."],
    ["/api/chat", asked, '"done":true'],
    ["/api/generate", { ...asked, prompt: "q" }, '"done":true'],
  ])("begins on %s with %j", async (path, request, inAnswer) => {
    const { load, stream } = await whileLoading(path, request);
    expect(stream.status).toBe(200);
    load.resolve();
    const all = await stream.text();
    expect(all).toContain(inAnswer);
    expect(all).toContain("Hum [1]");
  });

  test("ends as a failed response where the answer cannot begin", async () => {
    const { app, load, stream } = await whileLoading("/v1/responses", response);
    app.chat.countTokens = async () => {
      throw new NodeError("model_not_ready", "It cannot be loaded.");
    };
    load.resolve();
    const all = await stream.text();
    expect(all).toContain("event: response.failed");
    expect(all).toContain("It cannot be loaded.");
  });

  test("says at once which fields have no effect", async () => {
    const { load, stream } = await whileLoading(path, { ...asked, min_p: 0.1 });
    expect(stream.headers.get("x-paddock-ignored")).toBe("min_p");
    load.resolve();
    await stream.text();
  });
});
