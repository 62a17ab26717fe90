import { describe, expect, test } from "bun:test";
import OpenAI from "openai";
import { NodeError } from "../../src/core/errors.ts";
import type { GenerationEvent } from "../../src/core/ports/chat-engine.ts";
import { ResponseObject } from "../../src/server/operations/responses/schema.ts";
import { untilAborted } from "../support/aborted.ts";
import { decode, decodeError } from "../support/decode.ts";
import { readEvents } from "../support/response-events.ts";
import { finish } from "../support/scripted-engines.ts";
import { testApp } from "../support/test-app.ts";
import { waitFor } from "../support/wait-for.ts";

const path = "/v1/responses";
const body = { model: "chatty", input: "Hello" };
const text = (value: string) => ({ type: "text", text: value }) as const;
const thought = (value: string) => ({ type: "reasoning", text: value }) as const;
const call = (index: number, name: string): GenerationEvent => ({
  type: "tool-call",
  index,
  id: `call_${index}`,
  name,
});
const args = (index: number, value: string): GenerationEvent => ({
  type: "tool-arguments",
  index,
  text: value,
});
const tools = ["look", "jump"].map((name) => ({
  type: "function" as const,
  name,
  parameters: null,
  strict: false,
}));

test.each([false, true])(
  "a response counts with what its caller holds until its end, stream: %j",
  async (stream) => {
    const app = testApp({ maxBodyBytes: 200_000 });
    const { promise, resolve } = Promise.withResolvers<void>();
    const long = [text("x".repeat(450_000)), text("x".repeat(450_000))];
    app.chat.script(...long, () => promise, finish);
    const first = app.post(path, { ...body, stream });
    const reading = first.then((response) => response.text());
    await waitFor("the answer", () => app.chat.requests.length === 1);
    app.chat.script(...long, finish);
    const second = await app.post(path, { ...body, stream });
    expect(stream ? await second.text() : second.status).toEqual(
      stream ? expect.stringContaining("take all the memory") : 503,
    );
    resolve();
    await reading;
    app.chat.script(...long, finish);
    const third = await app.post(path, { ...body, stream });
    expect(await third.text()).not.toContain("take all the memory");
    expect(third.status).toBe(200);
  },
);

describe("a plain response", () => {
  test("has every field, also those that nobody asked for", async () => {
    const app = testApp();
    app.chat.script(text("Hi "), text("there"), finish);
    const answer = await decode(ResponseObject, await app.post(path, body));
    expect(answer).toEqual({
      id: expect.stringMatching(/^resp_[0-9a-f]{32}$/),
      object: "response",
      created_at: expect.any(Number),
      completed_at: expect.any(Number),
      status: "completed",
      error: null,
      incomplete_details: null,
      model: "chatty",
      instructions: null,
      output: [
        {
          type: "message",
          id: expect.stringMatching(/^msg_[0-9a-f]{32}_0$/),
          status: "completed",
          role: "assistant",
          content: [{ type: "output_text", text: "Hi there", annotations: [] }],
        },
      ],
      usage: {
        input_tokens: 3,
        input_tokens_details: { cached_tokens: 1 },
        output_tokens: 2,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: 5,
      },
      previous_response_id: null,
      background: false,
      store: true,
      metadata: {},
      max_output_tokens: null,
      max_tool_calls: null,
      temperature: null,
      top_p: null,
      top_logprobs: 0,
      parallel_tool_calls: true,
      tool_choice: "auto",
      tools: [],
      text: { format: { type: "text" } },
      reasoning: { effort: null, summary: null },
      truncation: "disabled",
      service_tier: "default",
      system_fingerprint: "fp_c0ffee",
    });
  });

  test("has thoughts, a text and calls as items of their own", async () => {
    const app = testApp();
    app.chat.script(
      thought("Hm"),
      thought("."),
      text("I look."),
      call(0, "look"),
      args(0, '{"at":'),
      args(0, "1}"),
      call(1, "jump"),
      args(1, "{}"),
      { ...finish, reason: "tool_calls" },
    );
    const { output, status } = await decode(
      ResponseObject,
      await app.post(path, { ...body, tools }),
    );
    expect(status).toBe("completed");
    expect(output).toMatchObject([
      { type: "reasoning", summary: [], content: [{ type: "reasoning_text", text: "Hm." }] },
      { type: "message", content: [{ text: "I look." }] },
      { type: "function_call", call_id: "call_0", name: "look", arguments: '{"at":1}' },
      { type: "function_call", call_id: "call_1", name: "jump", arguments: "{}" },
    ]);
  });

  test.each([
    ["length", "max_output_tokens"],
    ["content_filter", "content_filter"],
  ] as const)("is incomplete where it ends by %s", async (reason, told) => {
    const app = testApp();
    app.chat.script(text("So"), { ...finish, reason });
    const answer = await decode(ResponseObject, await app.post(path, body));
    expect(answer).toMatchObject({
      status: "incomplete",
      completed_at: null,
      incomplete_details: { reason: told },
      output: [{ type: "message", status: "incomplete" }],
    });
  });

  test("is an empty message where the model says nothing", async () => {
    const app = testApp();
    app.chat.script(finish);
    const { output } = await decode(ResponseObject, await app.post(path, body));
    expect(output).toMatchObject([{ type: "message", content: [{ text: "" }] }]);
  });

  test("tells the model its instructions before the conversation", async () => {
    const app = testApp();
    app.chat.script(finish);
    const input = [
      { role: "developer", content: "Be kind." },
      { type: "message", role: "user", content: [{ type: "input_text", text: "Hello" }] },
    ];
    const answer = await app.post(path, { model: "chatty", input, instructions: "Be brief." });
    expect((await decode(ResponseObject, answer)).instructions).toBe("Be brief.");
    expect(app.chat.requests[0]?.messages).toEqual([
      { role: "system", content: "Be brief." },
      { role: "system", content: "Be kind." },
      { role: "user", content: "Hello" },
    ]);
  });

  test("is refused for names of metadata that are too long, and for too many pairs", async () => {
    const app = testApp();
    const pairs = Object.fromEntries(Array.from({ length: 17 }, (_, at) => [`${at}`, "x"]));
    for (const metadata of [{ ["k".repeat(65)]: "x" }, { k: "v".repeat(513) }, pairs]) {
      const answer = await app.post(path, { ...body, metadata });
      expect(answer.status).toBe(400);
      expect((await decodeError(answer)).param).toStartWith("metadata");
    }
  });

  test("is refused with more items than the node takes", async () => {
    const app = testApp({ maxMessages: 2 });
    const input = Array.from({ length: 3 }, () => ({ role: "user", content: "a" }));
    const answer = await app.post(path, { model: "chatty", input });
    expect(answer.status).toBe(400);
    expect((await decodeError(answer)).param).toBe("input");
  });
});

describe("a streamed response", () => {
  const streamed = { ...body, stream: true };

  test("tells every item in its order, and then all of it", async () => {
    const app = testApp();
    app.chat.script(thought("Hm"), text("Hi"), text("!"), call(0, "look"), args(0, "{}"), {
      ...finish,
      reason: "tool_calls",
    });
    const events = await readEvents(await app.post(path, { ...streamed, tools }));
    expect(events.map(({ sequence_number: number }) => number)).toEqual([...events.keys()]);
    expect(events.map((event) => [event.type, placeOf(event)])).toEqual([
      ["response.created", undefined],
      ["response.in_progress", undefined],
      ["response.output_item.added", 0],
      ["response.content_part.added", 0],
      ["response.reasoning_text.delta", 0],
      ["response.reasoning_text.done", 0],
      ["response.content_part.done", 0],
      ["response.output_item.done", 0],
      ["response.output_item.added", 1],
      ["response.content_part.added", 1],
      ["response.output_text.delta", 1],
      ["response.output_text.delta", 1],
      ["response.output_text.done", 1],
      ["response.content_part.done", 1],
      ["response.output_item.done", 1],
      ["response.output_item.added", 2],
      ["response.function_call_arguments.delta", 2],
      ["response.function_call_arguments.done", 2],
      ["response.output_item.done", 2],
      ["response.completed", undefined],
    ]);
    const last = events.at(-1);
    const items = events.flatMap((event) =>
      event.type === "response.output_item.done" && "item" in event ? [event.item] : [],
    );
    expect(last).toMatchObject({ response: { status: "completed", output: items } });
  });

  test("adds up in the openai package to what it ends with", async () => {
    const app = testApp();
    app.chat.script(
      thought("Hm"),
      text("I look."),
      ...[call(0, "look"), args(0, '{"at":'), args(0, "1}"), call(1, "jump"), args(1, "{}")],
      { ...finish, reason: "tool_calls" },
    );
    const client = new OpenAI({
      baseURL: "http://localhost/v1",
      apiKey: "any",
      fetch: (url, init) =>
        app.handle(new Request(url instanceof Request ? url.url : String(url), init)),
    });
    const stream = client.responses.stream({ ...body, tools });
    let output: unknown;
    stream.on("event", (event) => {
      if (event.type === "response.completed") output = event.response.output;
    });
    const added = await stream.finalResponse();
    expect(added.output_text).toBe("I look.");
    expect(added.output.map(({ type }) => type)).toEqual([
      "reasoning",
      "message",
      "function_call",
      "function_call",
    ]);
    expect(added.output).toMatchObject(Object(output));
  });

  test("keeps a real status where it fails before the first token", async () => {
    const app = testApp();
    app.chat.script(
      new NodeError("context_length_exceeded", "Too long.", { subject: { part: "messages" } }),
    );
    const answer = await app.post(path, streamed);
    expect(answer.status).toBe(400);
    expect(await decodeError(answer)).toMatchObject({ param: "input", message: "Too long." });
  });

  test("ends with an error and a failed response where it fails later", async () => {
    const app = testApp();
    app.chat.script(thought("Hm"), text("Hi"), new Error("secret inside"));
    const events = await readEvents(await app.post(path, streamed));
    const [error, failed] = events.slice(-2);
    expect(error).toMatchObject({ type: "error", code: "internal_error", param: null });
    expect(failed).toMatchObject({
      type: "response.failed",
      sequence_number: events.length - 1,
      response: {
        status: "failed",
        store: false,
        error: { code: "server_error", message: expect.not.stringContaining("secret inside") },
        output: [{ type: "reasoning" }],
      },
    });
    const id = /resp_[0-9a-f]{32}/.exec(JSON.stringify(failed))?.[0];
    expect((await app.get(`${path}/${id}`)).status).toBe(404);
  });

  test("stops generating when the client stops reading", async () => {
    const app = testApp();
    app.chat.script(text("one"), untilAborted);
    const answer = await app.post(path, streamed);
    const reader = answer.body?.getReader();
    await reader?.read();
    await reader?.cancel();
    expect(app.chat.ended).toBe(1);
  });
});

const placeOf = (event: object): unknown =>
  "output_index" in event ? event.output_index : undefined;
