import { describe, expect, test } from "bun:test";
import OpenAI from "openai";
import { NodeError } from "../../src/core/errors.ts";
import { ConversationObject } from "../../src/server/operations/conversations.ts";
import { ResponseObject } from "../../src/server/operations/responses/schema.ts";
import { decode, decodeError } from "../support/decode.ts";
import { listeningApp } from "../support/listening-app.ts";
import { readEvents } from "../support/response-events.ts";
import { finish } from "../support/scripted-engines.ts";
import { type TestApp, testApp } from "../support/test-app.ts";
import { waitFor } from "../support/wait-for.ts";

const path = "/v1/conversations";
const user = (content: string) => ({ role: "user", content });
const answer = (text: string) => [{ type: "text", text }, finish] as const;

async function made(app: TestApp, body: object = {}): Promise<string> {
  return (await decode(ConversationObject, await app.post(path, body))).id;
}

const remove = (app: TestApp, at: string): Promise<Response> =>
  app.handle(new Request(`http://localhost${at}`, { method: "DELETE" }));

const textsIn = async (app: TestApp, id: string): Promise<unknown[]> => {
  const response = await app.get(`${path}/${id}/items?order=asc`);
  const { data }: { data: { content?: { text: string }[] }[] } = JSON.parse(await response.text());
  return data.map(({ content }) => content?.[0]?.text);
};

describe("a conversation", () => {
  test("is made, read, changed and deleted", async () => {
    const app = testApp();
    const id = await made(app, { metadata: { topic: "llamas" } });
    const read = await decode(ConversationObject, await app.get(`${path}/${id}`));
    expect(read).toMatchObject({ id, object: "conversation", metadata: { topic: "llamas" } });
    await app.post(`${path}/${id}`, { metadata: { topic: "bees" } });
    expect(await (await app.get(`${path}/${id}`)).json()).toMatchObject({
      created_at: read.created_at,
      metadata: { topic: "bees" },
    });
    expect(await (await remove(app, `${path}/${id}`)).json()).toEqual({
      ...{ id, object: "conversation.deleted", deleted: true },
    });
    expect((await app.get(`${path}/${id}`)).status).toBe(404);
    expect((await remove(app, `${path}/${id}`)).status).toBe(404);
  });

  test("has items that are added, listed, read and deleted", async () => {
    const app = testApp();
    const id = await made(app, { items: [user("One")] });
    const added = await app.post(`${path}/${id}/items`, { items: [user("Two"), user("Three")] });
    const { data, last_id: last } = JSON.parse(await added.text());
    expect(data).toHaveLength(2);
    expect(await textsIn(app, id)).toEqual(["One", "Two", "Three"]);
    const page = await app.get(`${path}/${id}/items?limit=1`);
    expect(await page.json()).toMatchObject({ data: [{ id: last }], has_more: true });
    expect(await (await app.get(`${path}/${id}/items/${last}`)).json()).toMatchObject({
      ...{ id: last, type: "message", role: "user" },
    });
    expect(await (await remove(app, `${path}/${id}/items/${last}`)).json()).toMatchObject({ id });
    expect(await textsIn(app, id)).toEqual(["One", "Two"]);
    expect((await app.get(`${path}/${id}/items/${last}`)).status).toBe(404);
    expect((await remove(app, `${path}/${id}/items/${last}`)).status).toBe(404);
  });

  test.each([
    [{ items: [{ type: "web_search_call" }] }, "items[0]"],
    [{ items: [user("a"), { role: "user" }] }, "items[1].content"],
    [{ items: Array(21).fill(user("a")) }, "items"],
    [{ metadata: { a: 1 } }, "metadata.a"],
  ])("is refused by name: %j", async (body, param) => {
    const response = await testApp().post(path, body);
    expect(response.status).toBe(400);
    expect((await decodeError(response)).param).toBe(param);
  });

  test("has no more items than a conversation may have", async () => {
    const app = testApp({ maxMessages: 2 });
    const id = await made(app, { items: [user("One"), user("Two")] });
    const response = await app.post(`${path}/${id}/items`, { items: [user("Three")] });
    expect(response.status).toBe(400);
    expect((await decodeError(response)).message).toContain("limits.max_messages");
  });

  test("is for the key that made it, and no response", async () => {
    const app = testApp({ keys: ["first-key", "other-key"] });
    const as = (key: string) => ({ authorization: `Bearer ${key}` });
    const response = await app.post(path, { items: [user("One")] }, as("first-key"));
    const { id } = await decode(ConversationObject, response);
    for (const at of [id, `${id}/items`]) {
      expect((await app.get(`${path}/${at}`, as("first-key"))).status).toBe(200);
      expect((await app.get(`${path}/${at}`, as("other-key"))).status).toBe(404);
    }
    expect((await app.get(`/v1/responses/${id}`, as("first-key"))).status).toBe(404);
    const asked = { model: "chatty", input: "Hello", conversation: id };
    expect((await app.post("/v1/responses", asked, as("other-key"))).status).toBe(404);
  });

  test("is not made where nothing is kept", async () => {
    const response = await testApp({ responses: { keepForMs: 0 } }).post(path, {});
    expect(response.status).toBe(400);
    expect((await decodeError(response)).message).toContain("stores no conversations");
  });
});

describe("a response in a conversation", () => {
  const ask = (app: TestApp, conversation: unknown, more: object = {}) =>
    app.post("/v1/responses", { model: "chatty", input: "And then?", conversation, ...more });

  test("goes on from its items, and is added to them", async () => {
    const app = testApp();
    app.chat.script(...answer("They hum.")).script(...answer("They sleep."));
    const id = await made(app, { items: [user("What do llamas do?")] });
    const first = await decode(ResponseObject, await ask(app, id));
    expect(first.conversation).toEqual({ id });
    await (await ask(app, { id }, { stream: true, store: false })).text();
    expect(app.chat.requests[1]?.messages.map(({ content }) => content)).toEqual([
      "What do llamas do?",
      "And then?",
      "They hum.",
      "And then?",
    ]);
    expect(await textsIn(app, id)).toEqual([
      "What do llamas do?",
      "And then?",
      "They hum.",
      "And then?",
      "They sleep.",
    ]);
  });

  test("answers a call that it ends in", async () => {
    const app = testApp();
    app.chat
      .script({ type: "tool-call", index: 0, id: "call_1", name: "look" }, finish)
      .script(...answer("Found."));
    const id = await made(app);
    const tools = [{ type: "function", name: "look" }];
    await ask(app, id, { tools });
    const input = [{ type: "function_call_output", call_id: "call_1", output: "a llama" }];
    expect((await ask(app, id, { tools, input })).status).toBe(200);
    const roles = app.chat.requests[1]?.messages.map(({ role }) => role);
    expect(roles).toEqual(["user", "assistant", "tool"]);
  });

  test("is added to it when it was made in the background", async () => {
    const app = testApp();
    app.chat.script(...answer("Later."));
    const id = await made(app);
    await ask(app, id, { background: true });
    await waitFor("the response to be added", async () => (await textsIn(app, id)).length === 2);
    expect(await textsIn(app, id)).toEqual(["And then?", "Later."]);
  });

  test("loses nothing where two are made at once", async () => {
    const app = testApp();
    app.chat.script(...answer("One.")).script(...answer("Two."));
    const id = await made(app);
    await Promise.all([ask(app, id), ask(app, id)]);
    expect((await textsIn(app, id)).toSorted()).toEqual(["And then?", "And then?", "One.", "Two."]);
  });

  test("is answered where its conversation is gone by then, and the log says so", async () => {
    const app = testApp();
    const id = await made(app);
    const deleting = async () => void (await remove(app, `${path}/${id}`));
    app.chat.script(deleting, ...answer("Alone."));
    expect((await decode(ResponseObject, await ask(app, id))).conversation).toBeNull();
    expect(app.log.map(({ message }) => message)).toContain(
      "a response is not added to its conversation",
    );
  });

  describe("that the disk has no room for", () => {
    async function fullApp(): Promise<{ app: TestApp; id: string }> {
      const app = testApp();
      app.chat.script(...answer("They hum."));
      const id = await made(app);
      const { store } = app.responses;
      store.replace = async () => {
        throw new NodeError("unavailable", "The disk is full.");
      };
      return { app, id };
    }
    const lost = { status: "completed", conversation: null };

    test.each([true, false])("names none, also when it is read, store: %p", async (store) => {
      const { app, id } = await fullApp();
      const response = await decode(ResponseObject, await ask(app, id, { store }));
      expect(response).toMatchObject({ ...lost, store });
      expect(await textsIn(app, id)).toEqual([]);
      if (store)
        expect(await (await app.get(`/v1/responses/${response.id}`)).json()).toMatchObject(lost);
    });

    test("names none in the last event of its stream", async () => {
      const { app, id } = await fullApp();
      const events = await readEvents(await ask(app, id, { stream: true }));
      expect(events.at(0)).toMatchObject({ response: { conversation: { id } } });
      expect(events.at(-1)).toMatchObject({ type: "response.completed", response: lost });
    });

    test("names none when it was made in the background", async () => {
      const { app, id } = await fullApp();
      const queued = await decode(ResponseObject, await ask(app, id, { background: true }));
      expect(queued.conversation).toEqual({ id });
      const read = async () =>
        await decode(ResponseObject, await app.get(`/v1/responses/${queued.id}`));
      await waitFor("its end", async () => (await read()).status === "completed");
      expect((await read()).conversation).toBeNull();
    });
  });

  test("is refused beside another one, and where items do not fit together", async () => {
    const app = testApp();
    const id = await made(app);
    const both = await ask(app, id, { previous_response_id: "resp_1" });
    expect(await decodeError(both)).toMatchObject({ param: "conversation" });
    const missing = await ask(app, "conv_0");
    expect([missing.status, (await decodeError(missing)).param]).toEqual([404, "conversation"]);
    const call = { type: "function_call", call_id: "call_1", name: "look", arguments: "{}" };
    const output = { type: "function_call_output", call_id: "call_1", output: "a" };
    const added = await app.post(`${path}/${id}/items`, { items: [user("a"), call, output] });
    const { data } = JSON.parse(await added.text());
    await remove(app, `${path}/${id}/items/${data[1].id}`);
    expect(await decodeError(await ask(app, id))).toMatchObject({
      param: "conversation",
      message: expect.stringContaining("do not fit together"),
    });
  });
});

test("the openai package keeps a conversation", async () => {
  await using app = listeningApp();
  app.chat.script(...answer("They hum."));
  const client = new OpenAI({ baseURL: `${app.origin}/v1`, apiKey: "any" });
  const { id } = await client.conversations.create({ metadata: { topic: "llamas" } });
  const items = [{ type: "message" as const, role: "user" as const, content: "Llamas?" }];
  await client.conversations.items.create(id, { items });
  const { output_text: text } = await client.responses.create({
    ...{ model: "chatty", input: "What do they do?", conversation: id },
  });
  expect(text).toBe("They hum.");
  const listed = await Array.fromAsync(client.conversations.items.list(id, { limit: 2 }));
  expect(listed.map(({ type }) => type)).toEqual(["message", "message", "message"]);
  const [last] = listed;
  if (last?.type !== "message") throw new Error("The last item is no message");
  await client.conversations.items.delete(last.id, { conversation_id: id });
  await client.conversations.update(id, { metadata: { topic: "none" } });
  expect(await client.conversations.delete(id)).toMatchObject({ deleted: true });
});
