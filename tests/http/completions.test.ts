import { describe, expect, test } from "bun:test";
import type { GenerationEvent, TokenLogprobs } from "../../src/core/ports/chat-engine.ts";
import { Completion, CompletionChunk } from "../../src/server/operations/completions/schema.ts";
import { decode, decodeError } from "../support/decode.ts";
import { finish } from "../support/scripted-engines.ts";
import { readFrames } from "../support/sse.ts";
import { type TestApp, testApp } from "../support/test-app.ts";

const path = "/v1/completions";
const body = { model: "chatty", prompt: "Once" };

const text = (value: string, logprob?: number): GenerationEvent => {
  const token = { token: value, logprob: logprob ?? 0, bytes: [...Buffer.from(value)], top: [] };
  const logprobs: TokenLogprobs[] = [token];
  return { type: "text", text: value, ...(logprob === undefined ? {} : { logprobs }) };
};

const whole = async (app: TestApp, sent: object = {}): Promise<Completion> =>
  await decode(Completion, await app.post(path, { ...body, ...sent }));

async function chunks(app: TestApp, sent: object = {}): Promise<CompletionChunk[]> {
  const frames = await readFrames(await app.post(path, { ...body, ...sent, stream: true }));
  expect(frames.at(-1)).toBe("[DONE]");
  return await Promise.all(
    frames.slice(0, -1).map((frame) => decode(CompletionChunk, new Response(frame))),
  );
}

describe("a completion", () => {
  test("is whole, with its reason and its tokens", async () => {
    const app = testApp();
    app.chat.script(text(" upon"), text(" a time"), { ...finish, reason: "length" });
    const answer = await whole(app);
    expect(answer).toEqual({
      id: expect.stringMatching(/^cmpl-/),
      object: "text_completion",
      created: expect.any(Number),
      model: "chatty",
      system_fingerprint: expect.stringMatching(/^fp_/),
      choices: [{ index: 0, text: " upon a time", logprobs: null, finish_reason: "length" }],
      usage: {
        prompt_tokens: 3,
        completion_tokens: 2,
        total_tokens: 5,
        prompt_tokens_details: { cached_tokens: 1 },
        completion_tokens_details: { reasoning_tokens: 0 },
      },
    });
    expect(app.chat.completions).toMatchObject([{ prompt: "Once", maxTokens: 16 }]);
    expect(app.chat.requests).toEqual([]);
  });

  test("is streamed, each piece with what is known of it", async () => {
    const app = testApp();
    app.chat.script(text(" upon", -1), text(" a", -2), finish);
    const sent = await chunks(app, { logprobs: 0, stream_options: { include_usage: true } });
    expect(sent.flatMap(({ choices }) => choices)).toEqual([
      {
        index: 0,
        text: " upon",
        logprobs: {
          tokens: [" upon"],
          token_logprobs: [-1],
          top_logprobs: [{ " upon": -1 }],
          text_offset: [0],
        },
        finish_reason: null,
      },
      {
        index: 0,
        text: " a",
        logprobs: {
          tokens: [" a"],
          token_logprobs: [-2],
          top_logprobs: [{ " a": -2 }],
          text_offset: [5],
        },
        finish_reason: null,
      },
      { index: 0, text: "", logprobs: null, finish_reason: "stop" },
    ]);
    expect(sent.slice(0, -1).map(({ usage }) => usage)).toEqual([null, null, null]);
    expect(sent.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: 5 } });
    expect(new Set(sent.map(({ id }) => id)).size).toBe(1);
  });

  test("has no usage in its chunks where none is asked for", async () => {
    const app = testApp();
    app.chat.script(text("!"), finish);
    for (const chunk of await chunks(app)) expect(chunk).not.toHaveProperty("usage");
  });

  test("of several prompts has the answers of the first one first", async () => {
    const app = testApp();
    for (const value of ["a", "b", "c", "d"]) app.chat.script(text(value), finish);
    const { choices, usage } = await whole(app, { prompt: ["Once", "Twice"], n: 2 });
    expect(choices.map((choice) => [choice.index, choice.text])).toEqual([
      [0, "a"],
      [1, "b"],
      [2, "c"],
      [3, "d"],
    ]);
    expect(app.chat.completions.map(({ prompt }) => prompt)).toEqual([
      "Once",
      "Once",
      "Twice",
      "Twice",
    ]);
    expect(usage).toMatchObject({ prompt_tokens: 6, completion_tokens: 8 });
  });

  test("of several prompts has no more text in all answers than a node can hold", async () => {
    const app = testApp({ maxBodyBytes: 1 << 24 });
    const long = text("x".repeat(3 * 1024 * 1024));
    for (let answer = 0; answer < 6; answer++) app.chat.script(long, finish);
    const response = await app.post(path, { ...body, prompt: ["a", "b", "c"], n: 2 });
    expect(await decodeError(response)).toMatchObject({ code: "upstream_failed" });
  });

  test("that would repeat a long prompt in very many answers is rejected, unless it is streamed", async () => {
    const app = testApp();
    const sent = { ...body, prompt: "x".repeat(1_000_000), n: 20, echo: true };
    const response = await app.post(path, sent);
    expect([response.status, await decodeError(response)]).toMatchObject([400, { param: "echo" }]);
    expect(app.chat.completions).toBeEmpty();
  });

  test("is the best of several, and all of them are counted", async () => {
    const app = testApp();
    app.chat.script(text("bad", -3), finish).script(text("best", -1), finish);
    app.chat.script(text("good", -2), finish);
    const { choices, usage } = await whole(app, { best_of: 3, n: 2 });
    expect(choices.map((choice) => choice.text)).toEqual(["best", "good"]);
    expect(choices.map(({ logprobs }) => logprobs)).toEqual([null, null]);
    expect(usage.completion_tokens).toBe(6);
  });

  test("begins with its prompt where that is asked for, also in a stream", async () => {
    const app = testApp();
    const echoed = { type: "text", text: "Once", echoed: true } as const;
    app.chat.script(echoed, text("!"), finish).script(echoed, text("!"), finish);
    expect((await whole(app, { echo: true })).choices[0]?.text).toBe("Once!");
    const sent = await chunks(app, { echo: true });
    expect(sent.map(({ choices }) => choices[0]?.text)).toEqual(["Once", "!", ""]);
  });

  /** A part of a prompt that was scored. */
  const scored = (text: string, tokens: number): GenerationEvent => {
    const one: TokenLogprobs = { token: "a", logprob: -1, bytes: [97], top: [] };
    return { type: "text", text, logprobs: new Array(tokens).fill(one), echoed: true };
  };

  test("has the log probabilities of a long prompt without holding up others", async () => {
    const app = testApp();
    const parts = Array.from({ length: 100 }, () => scored("", 256));
    app.chat.script(scored("a".repeat(101 * 256), 256), ...parts, text("!", -2), finish);
    let turns = 0;
    let isAnswered = false;
    const count = (): void => {
      turns++;
      if (!isAnswered) setImmediate(count);
    };
    setImmediate(count);
    const { choices } = await whole(app, { echo: true, logprobs: 0 });
    isAnswered = true;
    expect(turns).toBeGreaterThan(100);
    const { tokens = [], text_offset: places = [] } = choices[0]?.logprobs ?? {};
    expect(tokens).toHaveLength(101 * 256 + 1);
    expect(places.at(-1)).toBe(101 * 256);
    expect(choices[0]?.logprobs?.token_logprobs.slice(0, 2)).toEqual([null, -1]);
  });

  test("is refused where its prompts have more scored tokens than an answer holds", async () => {
    const app = testApp();
    for (let answer = 0; answer < 2; answer++) {
      app.chat.script(scored("a", 1), scored("", 131_072), finish);
    }
    const response = await app.post(path, { ...body, prompt: ["a", "b"], echo: true, logprobs: 0 });
    expect(response.status).toBe(400);
    expect(await decodeError(response)).toMatchObject({
      param: "logprobs",
      message: expect.stringContaining("262144"),
    });
  });

  test("that fails before its first piece keeps a real status, and one after it an error frame", async () => {
    const app = testApp();
    app.chat.script(new Error("no")).script(text("!"), new Error("no"));
    expect((await app.post(path, { ...body, stream: true })).status).toBe(500);
    const frames = await readFrames(await app.post(path, { ...body, stream: true }));
    expect(frames.at(-1)).toContain('"error"');
  });

  test("is measured, limited and logged as a chat is", async () => {
    const app = testApp({ logPrompts: true, callerLimits: { concurrency: 3 } });
    for (let answer = 0; answer < 3; answer++) app.chat.script(text("!"), finish);
    await whole(app, { prompt: ["a", "b"] });
    expect(app.log.find(({ message }) => message === "a prompt")?.fields).toMatchObject({
      model: "chatty",
      prompt: ["a", "b"],
    });
    expect(app.log.find(({ message }) => message === "an answer")?.fields).toMatchObject({
      texts: ["!", "!"],
    });
    const beyond = await app.post(path, { ...body, prompt: ["a", "b"], n: 2 });
    expect(beyond.status).toBe(400);
    expect(await decodeError(beyond)).toMatchObject({
      param: "n",
      message: expect.stringContaining("several prompts"),
    });
    const metrics = await (await app.get("/metrics")).text();
    expect(metrics).toContain('paddock_generated_tokens_total{model="chatty"} 4');
  });

  test("asks with the key's own prefix cache, and a key that opens chat", async () => {
    const app = testApp({ keys: ["secret"] });
    expect((await app.post(path, body)).status).toBe(401);
    app.chat.script(text("!"), finish);
    expect((await app.post(path, body, { authorization: "Bearer secret" })).status).toBe(200);
    expect(app.chat.prefixScopes).toEqual([expect.stringMatching(/^key /)]);
  });

  test.each([
    [{ prompt: undefined }, "prompt"],
    [{ prompt: [] }, "prompt"],
    [{ prompt: ["a", 1] }, "prompt[1]"],
    [{ prompt: [1, -1] }, "prompt[1]"],
    [{ prompt: [[]] }, "prompt[0]"],
    [{ prompt: { text: "a" } }, "prompt"],
    [{ max_tokens: -1 }, "max_tokens"],
    [{ logprobs: 6 }, "logprobs"],
    [{ logprobs: true }, "logprobs"],
    [{ n: 21 }, "n"],
    [{ n: 2, best_of: 1 }, "best_of"],
    [{ best_of: 2, stream: true }, "best_of"],
    [{ stop: [] }, "stop"],
    [{ prompt: Array.from({ length: 129 }, () => "a") }, "prompt"],
    [{ prompt: Array.from({ length: 3000 }, () => "a") }, "prompt"],
    [{ model: "vectors" }, "model"],
  ])("refuses %j by name", async (sent, param) => {
    const app = testApp();
    const response = await app.post(path, { ...body, ...sent });
    expect(response.status).toBe(param === "model" ? 404 : 400);
    expect(await decodeError(response)).toMatchObject({ param });
    expect(app.chat.completions).toEqual([]);
  });
});
