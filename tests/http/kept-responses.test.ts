import { describe, expect, test } from "bun:test";
import type { GenerationEvent } from "../../src/core/ports/chat-engine.ts";
import { ResponseObject } from "../../src/server/operations/responses/schema.ts";
import { untilAborted } from "../support/aborted.ts";
import { decode, decodeError } from "../support/decode.ts";
import { finish } from "../support/scripted-engines.ts";
import { type TestApp, testApp } from "../support/test-app.ts";
import { waitFor } from "../support/wait-for.ts";

const path = "/v1/responses";
const body = { model: "chatty", input: "Hello" };
const text = (value: string) => ({ type: "text", text: value }) as const;
const called: readonly GenerationEvent[] = [
  { type: "tool-call", index: 0, id: "call_1", name: "look" },
  { type: "tool-arguments", index: 0, text: '{"at":1}' },
];
const tools = [{ type: "function", name: "look" }];
const output = { type: "function_call_output", call_id: "call_1", output: "found" };
const as = (name: "ada" | "bob") => ({ authorization: `Bearer key-of-${name}` });

async function make(app: TestApp, more: object, headers = {}): Promise<ResponseObject> {
  return await decode(ResponseObject, await app.post(path, { ...body, ...more }, headers));
}

describe("a response that goes on from another", () => {
  test("has its conversation before the input, and none of its instructions", async () => {
    const app = testApp();
    app.chat.script(text("Hi"), finish).script(text("Fine"), finish).script(finish);
    const first = await make(app, { instructions: "Be brief." });
    const second = await make(app, { input: "How?", previous_response_id: first.id });
    await make(app, {
      input: "Why?",
      previous_response_id: second.id,
      instructions: "Be long.",
      stream: false,
    });
    expect(app.chat.requests.map(({ messages }) => messages).slice(1)).toEqual([
      [
        { role: "user", content: "Hello" },
        { role: "assistant", content: "Hi" },
        { role: "user", content: "How?" },
      ],
      [
        { role: "system", content: "Be long." },
        { role: "user", content: "Hello" },
        { role: "assistant", content: "Hi" },
        { role: "user", content: "How?" },
        { role: "assistant", content: "Fine" },
        { role: "user", content: "Why?" },
      ],
    ]);
  });

  test("takes the output of a call, whether the one before was streamed or not", async () => {
    for (const stream of [false, true]) {
      const app = testApp();
      app.chat
        .script(text("I look."), ...called, { ...finish, reason: "tool_calls" })
        .script(finish);
      const answer = await app.post(path, { ...body, tools, stream });
      const id = /resp_[0-9a-f]{32}/.exec(await answer.text())?.[0];
      await make(app, { input: [output], previous_response_id: id, tools });
      expect(app.chat.requests[1]?.messages).toEqual([
        { role: "user", content: "Hello" },
        {
          role: "assistant",
          content: "I look.",
          toolCalls: [{ id: "call_1", name: "look", arguments: '{"at":1}' }],
        },
        { role: "tool", toolCallId: "call_1", content: "found" },
      ]);
    }
  });

  test("leaves out a call that was cut short", async () => {
    const app = testApp();
    const [begun] = called;
    if (begun === undefined) throw new Error("There is no call");
    app.chat.script(text("I"), begun, { ...finish, reason: "length" }).script(finish);
    const cut = await make(app, { tools });
    expect(cut.output).toMatchObject([{ type: "message" }, { status: "incomplete" }]);
    await make(app, { input: "Well?", previous_response_id: cut.id });
    expect(app.chat.requests[1]?.messages).toEqual([
      { role: "user", content: "Hello" },
      { role: "assistant", content: "I" },
      { role: "user", content: "Well?" },
    ]);
  });

  test("is refused where calls wait for their outputs", async () => {
    const app = testApp();
    app.chat.script(...called, { ...finish, reason: "tool_calls" });
    const { id } = await make(app, { tools });
    const answer = await app.post(path, { ...body, previous_response_id: id });
    expect(answer.status).toBe(400);
    expect(await decodeError(answer)).toMatchObject({
      param: "input[0]",
      message: expect.stringContaining("call_1"),
    });
  });

  test("finds none that is another key's, that was not kept, or whose node keeps none", async () => {
    const missing = async (app: TestApp, id: string, headers = {}) => {
      const answer = await app.post(path, { ...body, previous_response_id: id }, headers);
      expect(answer.status).toBe(404);
      expect(await decodeError(answer)).toMatchObject({ param: "previous_response_id" });
    };
    const app = testApp({ keys: ["key-of-ada", "key-of-bob"] });
    app.chat.script(finish).script(finish);
    await missing(app, (await make(app, {}, as("ada"))).id, as("bob"));
    const unkept = await make(app, { store: false }, as("ada"));
    expect(unkept.store).toBe(false);
    await missing(app, unkept.id, as("ada"));
    const forgetful = testApp({ responses: { keepForMs: 0 } });
    forgetful.chat.script(finish);
    const answer = await make(forgetful, { store: true });
    expect(answer.store).toBe(false);
    await missing(forgetful, answer.id);
  });

  test("refers to items of its own key's responses alone", async () => {
    const app = testApp({ keys: ["key-of-ada", "key-of-bob"] });
    app.chat.script(text("Hi"), finish).script(finish);
    const { output: items } = await make(app, {}, as("ada"));
    const input = [{ role: "user", content: "Hello" }, { id: items[0]?.id }];
    const refused = await app.post(path, { ...body, input }, as("bob"));
    expect(refused.status).toBe(400);
    expect((await decodeError(refused)).param).toBe("input[1]");
    await make(app, { input }, as("ada"));
    expect(app.chat.requests[1]?.messages).toEqual([
      { role: "user", content: "Hello" },
      { role: "assistant", content: "Hi" },
    ]);
  });

  test("is refused where the conversation has more messages than the node takes", async () => {
    const app = testApp({ maxMessages: 2 });
    app.chat.script(finish);
    const { id } = await make(app, {});
    const answer = await app.post(path, { ...body, previous_response_id: id });
    expect(answer.status).toBe(400);
    expect((await decodeError(answer)).message).toContain("limits.max_messages");
  });

  test("is logged with the one before, where prompts are", async () => {
    const app = testApp({ logPrompts: true });
    app.chat.script(text("Hi"), finish).script(finish);
    const { id } = await make(app, {});
    await make(app, { input: "How?", previous_response_id: id });
    const prompts = app.log.filter(({ message }) => message === "a prompt");
    expect(prompts.map(({ fields }) => fields)).toMatchObject([
      { input: "Hello" },
      { input: "How?", previous_response_id: id },
    ]);
  });

  test("says that it is not kept where the store takes no more", async () => {
    const app = testApp({ responses: { maxResponseBytes: 64 } });
    app.chat.script(text("Hi"), finish);
    expect((await make(app, {})).store).toBe(false);
  });
});

describe("a response in the background", () => {
  const statusOf = async (app: TestApp, id: string): Promise<string> => {
    const found = await decode(ResponseObject, await app.get(`${path}/${id}`));
    return found.status;
  };

  test("is answered at once, and made behind", async () => {
    const app = testApp();
    const gate = Promise.withResolvers<void>();
    app.chat.script(() => gate.promise, text("Hi"), finish);
    const queued = await make(app, { background: true });
    expect(queued).toMatchObject({ status: "queued", background: true, output: [], usage: null });
    await waitFor("its turn", async () => (await statusOf(app, queued.id)) === "in_progress");
    gate.resolve();
    await waitFor("its end", async () => (await statusOf(app, queued.id)) === "completed");
    const made = await decode(ResponseObject, await app.get(`${path}/${queued.id}`));
    expect(made).toMatchObject({ id: queued.id, output: [{ content: [{ text: "Hi" }] }] });
  });

  test("is failed with the reason where the model fails", async () => {
    const app = testApp();
    app.chat.script(new Error("secret inside"));
    const { id } = await make(app, { background: true });
    await waitFor("its end", async () => (await statusOf(app, id)) === "failed");
    const failed = await decode(ResponseObject, await app.get(`${path}/${id}`));
    expect(failed.error?.message).not.toContain("secret inside");
    const next = await app.post(path, { ...body, previous_response_id: id });
    expect(await decodeError(next)).toMatchObject({ param: "previous_response_id" });
  });

  test("stops generating when it is cancelled, and cannot be gone on from", async () => {
    const app = testApp();
    app.chat.script(text("Hi"), untilAborted);
    const { id } = await make(app, { background: true });
    await waitFor("its turn", () => app.chat.requests.length === 1);
    const answer = await app.post(`${path}/${id}/cancel`, "");
    expect(await answer.json()).toMatchObject({ status: "cancelled" });
    await waitFor("the model to stop", () => app.chat.ended === 1);
    const next = await app.post(path, { ...body, previous_response_id: id });
    expect((await decodeError(next)).message).toContain("cancelled");
  });

  test.each([
    ["stream", { stream: true }],
    ["store", { store: false }],
    ["top_logprobs", { top_logprobs: 2 }],
    ["rag.filters.key", { rag: { filters: { type: "eq", value: 1 } } }],
  ])("is refused with %s", async (param, more) => {
    const answer = await testApp().post(path, { ...body, background: true, ...more });
    expect(answer.status).toBe(400);
    expect((await decodeError(answer)).param).toBe(param);
  });

  test("is refused at once for a model that is not there", async () => {
    const answer = await testApp().post(path, { ...body, model: "nobody", background: true });
    expect(answer.status).toBe(404);
    expect((await decodeError(answer)).code).toBe("model_not_found");
  });
});
