import { describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import { NodeError } from "../../src/core/errors.ts";
import { ChatCompletion, ChatCompletionChunk } from "../../src/server/operations/chat/schema.ts";
import { decode, decodeError } from "../support/decode.ts";
import { finish } from "../support/scripted-engines.ts";
import { frames, readFrames } from "../support/sse.ts";
import { testApp } from "../support/test-app.ts";
import { waitFor } from "../support/wait-for.ts";

const path = "/v1/chat/completions";
const user = { role: "user", content: "Hello" } as const;
const body = { model: "chatty", messages: [user] };
const usage = {
  prompt_tokens: 3,
  completion_tokens: 2,
  total_tokens: 5,
  prompt_tokens_details: { cached_tokens: 1 },
  completion_tokens_details: { reasoning_tokens: 0 },
};
const text = (value: string) => ({ type: "text", text: value }) as const;

describe("a plain chat completion", () => {
  test("has every field of the specification", async () => {
    const app = testApp();
    app.chat.script(text("Hi "), text("there"), finish);
    const response = await app.post(path, body);
    const answer = await decode(ChatCompletion, response);
    expect(response.status).toBe(200);
    expect(answer).toEqual({
      id: expect.stringMatching(/^chatcmpl-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
      object: "chat.completion",
      created: expect.any(Number),
      model: "chatty",
      system_fingerprint: "fp_c0ffee",
      choices: [
        {
          index: 0,
          message: { role: "assistant", content: "Hi there", refusal: null },
          logprobs: null,
          finish_reason: "stop",
        },
      ],
      usage,
    });
    expect(Math.abs(answer.created - Date.now() / 1000)).toBeLessThan(60);
  });

  test("has no more text in all its answers than a node can hold, unless it is streamed", async () => {
    const app = testApp({ maxBodyBytes: 1 << 24 });
    const long = text("x".repeat(3 * 1024 * 1024));
    const script = () => Array.from({ length: 8 }, () => app.chat.script(long, finish));
    script();
    const error = await decodeError(await app.post(path, { ...body, n: 8 }));
    expect(error).toMatchObject({
      code: "upstream_failed",
      message: expect.stringMatching(/fewer/),
    });
    script();
    const streamed = await app.post(path, { ...body, n: 8, stream: true });
    expect((await readFrames(streamed)).at(-1)).toBe("[DONE]");
    app.chat.script(long, finish);
    expect((await decode(ChatCompletion, await app.post(path, body))).choices).toHaveLength(1);
  });

  test("counts with what its caller holds: a large one waits until there is room", async () => {
    const app = testApp({ maxBodyBytes: 200_000 });
    const long = text("x".repeat(900_000));
    app.chat.script(long, finish);
    const unread = await app.post(path, body);
    expect(unread.status).toBe(200);
    app.chat.script(long, finish);
    expect((await app.post(path, body)).status).toBe(503);
    await unread.text();
    app.chat.script(long, finish);
    expect((await app.post(path, body)).status).toBe(200);
  });

  test("has no more log probabilities in all its answers than a node can hold", async () => {
    const app = testApp();
    const one = { token: "a", logprob: -1, bytes: [97] };
    const logprobs = Array.from({ length: 14_000 }, () => ({
      ...one,
      top: new Array(9).fill(one),
    }));
    for (let answer = 0; answer < 8; answer++) app.chat.script({ ...text("a"), logprobs }, finish);
    const response = await app.post(path, { ...body, n: 8, logprobs: true, top_logprobs: 9 });
    expect(await decodeError(response)).toMatchObject({ code: "upstream_failed" });
  });

  test("has an id of its own each time", async () => {
    const app = testApp();
    app.chat.script(finish).script(finish);
    const first = await decode(ChatCompletion, await app.post(path, body));
    const second = await decode(ChatCompletion, await app.post(path, body));
    expect(first.id).not.toBe(second.id);
  });

  test("passes what the request says to the sampler, zeros included", async () => {
    const app = testApp();
    app.chat.script(finish);
    await app.post(path, {
      ...body,
      temperature: 0,
      top_p: 0.5,
      min_p: 0,
      presence_penalty: -2,
      frequency_penalty: 2,
      max_tokens: 7,
    });
    expect(app.chat.requests).toEqual([
      {
        messages: [user],
        sampling: {
          temperature: 0,
          topP: 0.5,
          topK: 0,
          minP: 0,
          presencePenalty: -2,
          frequencyPenalty: 2,
          repeatPenalty: 1.1,
          repeatLastN: -1,
          dryMultiplier: 0,
          dryBase: 1.75,
          dryAllowedLength: 2,
        },
        maxTokens: 7,
      },
    ]);
  });

  test("takes the model's configured defaults where the request is silent or null", async () => {
    const app = testApp({ nPredict: 12 });
    app.chat.script(finish);
    await app.post(path, { ...body, temperature: null, max_tokens: null });
    expect(app.chat.requests[0]).toEqual({
      messages: [user],
      sampling: {
        temperature: 0.7,
        topP: 0.9,
        topK: 0,
        minP: 0.08,
        presencePenalty: 0.2,
        frequencyPenalty: 0.3,
        repeatPenalty: 1.1,
        repeatLastN: -1,
        dryMultiplier: 0,
        dryBase: 1.75,
        dryAllowedLength: 2,
      },
      maxTokens: 12,
    });
  });

  test("prefers max_completion_tokens to its older name", async () => {
    const app = testApp();
    app.chat.script(finish);
    await app.post(path, { ...body, max_tokens: 9, max_completion_tokens: 4 });
    expect(app.chat.requests[0]?.maxTokens).toBe(4);
  });

  test("takes a history of many turns and joins text parts", async () => {
    const app = testApp();
    app.chat.script(finish);
    const parts = [
      { type: "text", text: "And " },
      { type: "text", text: "now?" },
    ];
    await app.post(path, {
      model: "chatty",
      messages: [
        { role: "system", content: "Be brief." },
        user,
        { role: "assistant", content: "Hi." },
        { role: "user", content: parts },
      ],
    });
    expect(app.chat.requests[0]?.messages).toEqual([
      { role: "system", content: "Be brief." },
      { role: "user", content: "Hello" },
      { role: "assistant", content: "Hi." },
      { role: "user", content: "And now?" },
    ]);
  });

  test("tells that an answer was cut by its length", async () => {
    const app = testApp();
    app.chat.script(text("So"), { ...finish, reason: "length" });
    const answer = await decode(ChatCompletion, await app.post(path, body));
    expect(answer.choices[0]?.finish_reason).toBe("length");
  });
});

describe("a streamed chat completion", () => {
  const streamed = { ...body, stream: true };

  test("sends the specification's chunks and ends with [DONE]", async () => {
    const app = testApp();
    app.chat.script(text("Hi"), text(" there"), finish);
    const response = await app.post(path, streamed);
    expect(response.headers.get("content-type")).toStartWith("text/event-stream");
    expect(response.headers.get("x-request-id")).not.toBeNull();
    const sent = await readFrames(response);
    expect(sent.at(-1)).toBe("[DONE]");
    const chunks: ChatCompletionChunk[] = sent.slice(0, -1).map((frame) => JSON.parse(frame));
    const [first] = chunks;
    for (const chunk of chunks) {
      expect(Value.Check(ChatCompletionChunk, chunk)).toBe(true);
      expect(chunk).toMatchObject({
        id: first?.id ?? "",
        object: "chat.completion.chunk",
        created: first?.created ?? 0,
        model: "chatty",
        system_fingerprint: "fp_c0ffee",
      });
      expect("usage" in chunk).toBe(false);
    }
    expect(chunks.map(({ choices }) => choices)).toEqual([
      [choice({ role: "assistant", content: "" })],
      [choice({ role: "assistant", content: "Hi" })],
      [choice({ role: "assistant", content: " there" })],
      [choice({}, "stop")],
    ]);
  });

  test("adds a usage chunk when asked, and null usage before it", async () => {
    const app = testApp();
    app.chat.script(text("Hi"), finish);
    const response = await app.post(path, { ...streamed, stream_options: { include_usage: true } });
    const chunks: ChatCompletionChunk[] = (await readFrames(response))
      .slice(0, -1)
      .map((frame) => JSON.parse(frame));
    expect(chunks.map(({ choices, usage }) => [choices.length, usage])).toEqual([
      [1, null],
      [1, null],
      [1, null],
      [0, usage],
    ]);
  });

  test("leaves the process token by token", async () => {
    const app = testApp();
    const gate = Promise.withResolvers<void>();
    app.chat.script(text("one"), () => gate.promise, text("two"), finish);
    const stream = frames(await app.post(path, streamed));
    await stream.next();
    const { value } = await stream.next();
    expect(value).toContain('"content":"one"'); // while the engine still waits for the gate
    gate.resolve();
    const rest = await Array.fromAsync(stream);
    expect(rest.at(-1)).toBe("[DONE]");
  });

  test("keeps a real status when it fails before the first token", async () => {
    const app = testApp();
    app.chat.script(new NodeError("context_length_exceeded", "Too long.", { param: "messages" }));
    const response = await app.post(path, streamed);
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({
      error: {
        message: "Too long.",
        type: "invalid_request_error",
        param: "messages",
        code: "context_length_exceeded",
      },
    });
  });

  test("ends with an error frame and no [DONE] when it fails later", async () => {
    const app = testApp();
    app.chat.script(text("Hi"), new Error("secret inside"));
    const response = await app.post(path, streamed);
    const sent = await readFrames(response);
    expect(response.status).toBe(200);
    expect(JSON.parse(sent.at(-1) ?? "")).toEqual({
      error: {
        message: expect.not.stringContaining("secret inside"),
        type: "server_error",
        param: null,
        code: "internal_error",
      },
    });
    expect(app.log.map(({ level, message }) => [level, message])).toContainEqual([
      "error",
      "a stream broke off",
    ]);
  });

  test("stops generating when the client stops reading", async () => {
    const app = testApp();
    const endless = Array.from({ length: 1000 }, () => text("more "));
    app.chat.script(...endless, finish);
    const response = await app.post(path, streamed);
    const reader = response.body?.getReader();
    await reader?.read();
    await reader?.cancel();
    await waitFor("the generation's end", () => app.chat.ended === 1);
  });

  test("ends with an error frame when the node stops", async () => {
    const stop = new AbortController();
    const app = testApp({ stopping: stop.signal });
    const wait = async (): Promise<void> =>
      stop.abort(new NodeError("unavailable", "The node is stopping."));
    app.chat.script(text("Hi"), wait, text("more"), finish);
    const sent = await readFrames(await app.post(path, streamed));
    expect(JSON.parse(sent.at(-1) ?? "")).toMatchObject({
      error: { message: "The node is stopping.", code: "unavailable" },
    });
  });

  test("is made to its end for a reader that pauses, so that its slot is free", async () => {
    const app = testApp();
    let made = 0;
    const counted = Array.from({ length: 500 }, () => [
      text("more "),
      async () => {
        made++;
      },
    ]).flat();
    app.chat.script(...counted, finish);
    const reader = (await app.post(path, streamed)).body?.getReader();
    await reader?.read();
    await waitFor("the answer's end", () => made === 500);
    await reader?.cancel();
  });
});

describe("a chat request that cannot be answered", () => {
  const refused = async (sent: unknown) => {
    const response = await testApp().post(path, sent);
    const error = await decodeError(response);
    return {
      status: response.status,
      param: error.param,
      message: error.message,
      code: error.code,
    };
  };

  test.each([
    [{ messages: [user] }, "model", "'model' is required: a string that is not empty."],
    [{ model: "chatty" }, "messages", /'messages' is required/],
    [{ model: "chatty", messages: [] }, "messages", /a list of at least 1/],
    [{ ...body, messages: [{ role: "system", content: "x" }] }, "messages", /role 'user'/],
    [{ ...body, messages: [{ role: "robot", content: "x" }] }, "messages[0].role", /'robot'/],
    [{ ...body, messages: [{ role: "user" }] }, "messages[0].content", /is required/],
    [{ ...body, temperature: 2.1 }, "temperature", /a number from 0 to 2; found 2.1/],
    [{ ...body, temperature: "hot" }, "temperature", /a number from 0 to 2 or null; found 'hot'/],
    [{ ...body, top_p: -0.1 }, "top_p", /from 0 to 1/],
    [{ ...body, presence_penalty: 3 }, "presence_penalty", /from -2 to 2/],
    [{ ...body, frequency_penalty: -3 }, "frequency_penalty", /from -2 to 2/],
    [{ ...body, max_tokens: 0 }, "max_tokens", /of at least 1/],
    [{ ...body, max_completion_tokens: 1.5 }, "max_completion_tokens", /an integer/],
    [{ ...body, stream: "yes" }, "stream", /true or false/],
    [[], null, /The body must be an object; found a list/],
  ])("names the field: %j", async (sent, param, message) => {
    const found = await refused(sent);
    expect(found).toEqual({
      status: 400,
      param,
      code: null,
      message: typeof message === "string" ? message : expect.stringMatching(message),
    });
  });

  test("names a content part that is not text", async () => {
    const image = { type: "image_url", image_url: { url: "data:," } };
    const found = await refused({ ...body, messages: [{ role: "user", content: [image] }] });
    expect(found).toMatchObject({
      status: 400,
      param: "messages[0].content[0]",
      message: expect.stringContaining("no images"),
    });
  });

  test("is a 500 model_not_found with the names there are, and is not worth a retry", async () => {
    const response = await testApp().post(path, { ...body, model: "nobody" });
    expect(response.status).toBe(500);
    expect(response.headers.get("x-should-retry")).toBe("false");
    expect(await response.json()).toEqual({
      error: {
        message:
          "The model 'nobody' is not on this node. The chat models of this node are: chatty.",
        type: "invalid_request_error",
        param: "model",
        code: "model_not_found",
      },
    });
  });

  test("is a 500 model_not_found when the model is of the other type", async () => {
    const found = await refused({ ...body, model: "vectors" });
    expect(found).toMatchObject({
      status: 500,
      code: "model_not_found",
      message: expect.stringContaining("is a model of type 'embedding'"),
    });
  });

  test("is a 503 with Retry-After while the model is not ready", async () => {
    const response = await testApp({ unprepared: true }).post(path, body);
    expect(response.status).toBe(503);
    expect(response.headers.get("retry-after")).toBe("2");
    expect((await decodeError(response)).code).toBe("model_not_ready");
  });

  test("is a 504 when it takes longer than a request may, in both modes", async () => {
    const app = testApp({ requestTimeoutMs: 5 });
    const late = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 30));
    app.chat.script(late, finish).script(late, finish);
    for (const stream of [false, true]) {
      const response = await app.post(path, { ...body, stream });
      expect(response.status).toBe(504);
      expect(await decodeError(response)).toMatchObject({ code: "request_timeout" });
    }
  });

  test("says nothing of the inside when the engine fails, and logs it under the request's id", async () => {
    const app = testApp();
    app.chat.script(new Error("secret inside"));
    const response = await app.post(path, body, { "x-request-id": "my-id" });
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain("secret inside");
    expect(app.log.find(({ level }) => level === "error")?.fields).toMatchObject({ id: "my-id" });
  });
});

type Choice = ChatCompletionChunk["choices"][number];

function choice(delta: Choice["delta"], reason: Choice["finish_reason"] = null): Choice {
  return { index: 0, delta, logprobs: null, finish_reason: reason };
}
