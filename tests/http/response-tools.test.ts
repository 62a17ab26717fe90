import { describe, expect, test } from "bun:test";
import { ResponseObject } from "../../src/server/operations/responses/schema.ts";
import { decode, decodeError } from "../support/decode.ts";
import { readEvents } from "../support/response-events.ts";
import { finish } from "../support/scripted-engines.ts";
import { testApp } from "../support/test-app.ts";

const path = "/v1/responses";
const look = { type: "function", name: "look", strict: false };
const garden = { type: "namespace", name: "garden", tools: [look, { ...look, name: "dig" }] };
const body = { model: "chatty", input: "Hello", tools: [look, garden] };
const calls = [
  { type: "tool-call", index: 0, id: "call_1", name: "garden__dig" },
  { type: "tool-arguments", index: 0, text: "{}" },
  { ...finish, reason: "tool_calls" },
] as const;
const called = {
  ...{ type: "function_call", call_id: "call_1" },
  ...{ namespace: "garden", name: "dig", arguments: "{}" },
} as const;

describe("functions in namespaces", () => {
  test("are offered to the model under one name, and called by both", async () => {
    const app = testApp();
    app.chat.script(...calls);
    const response = await app.post(path, body);
    expect(response.headers.get("x-paddock-ignored")).toBeNull();
    const { output } = await decode(ResponseObject, response);
    expect(output).toMatchObject([called]);
    expect(app.chat.requests[0]?.toolUse?.tools).toEqual([
      { name: "look", strict: false },
      { name: "garden__look", strict: false },
      { name: "garden__dig", strict: false },
    ]);
  });

  test("are called by both in a stream too", async () => {
    const app = testApp();
    app.chat.script(...calls);
    const events = await readEvents(await app.post(path, { ...body, stream: true }));
    const items = events.flatMap((event) => ("item" in event ? [event.item] : []));
    expect(items).toMatchObject([{ ...called, arguments: "" }, called]);
  });

  test("go on from a call and its output, sent again or kept", async () => {
    const app = testApp();
    app.chat
      .script(...calls)
      .script(finish)
      .script(finish);
    const { id } = await decode(ResponseObject, await app.post(path, body));
    const output = { type: "function_call_output", call_id: "call_1", output: "dug" };
    const sent = [{ role: "user", content: "Hello" }, called, output];
    expect((await app.post(path, { ...body, input: sent })).status).toBe(200);
    const kept = { ...body, input: [output], previous_response_id: id };
    expect((await app.post(path, kept)).status).toBe(200);
    for (const { messages } of app.chat.requests.slice(1)) {
      expect(messages[1]).toMatchObject({ toolCalls: [{ id: "call_1", name: "garden__dig" }] });
    }
  });

  test("are chosen by both", async () => {
    const app = testApp();
    app.chat.script(finish).script(finish);
    const dig = { type: "function", name: "dig", namespace: "garden" };
    await app.post(path, { ...body, tool_choice: dig });
    const allowed = { type: "allowed_tools", mode: "auto", tools: [dig] };
    await app.post(path, { ...body, tool_choice: allowed });
    const [chosen, restricted] = app.chat.requests.map(({ toolUse }) => toolUse);
    expect(chosen?.choice).toEqual({ name: "garden__dig" });
    expect(restricted?.tools.map(({ name }) => name)).toEqual(["garden__dig"]);
  });

  test("are bounded in all, and named where they stand", async () => {
    const many = Array.from({ length: 128 }, (_, at) => ({ ...look, name: `f${at}` }));
    const spaces = ["a", "b", "c", "d", "e"].map((name) => ({ ...garden, name, tools: many }));
    const tooMany = await testApp().post(path, { ...body, tools: spaces });
    expect(await decodeError(tooMany)).toMatchObject({ param: "tools" });
    const twice = { ...body, tools: [garden, { ...look, name: "garden__dig" }] };
    const again = await testApp().post(path, twice);
    expect(await decodeError(again)).toMatchObject({ param: "tools[1].name" });
  });
});

describe("a tool that the node does not have", () => {
  const search = { type: "web_search", external_web_access: false };
  const offered = { ...body, tools: [look, search] };

  test.each([undefined, "auto", { type: "function", name: "look" }])(
    "is left out and named where the model need not call it: %j",
    async (choice) => {
      const app = testApp();
      app.chat.script(finish);
      const response = await app.post(path, { ...offered, tool_choice: choice });
      expect([response.status, response.headers.get("x-paddock-ignored")]).toEqual([
        200,
        "tools[1]",
      ]);
      expect(app.chat.requests[0]?.toolUse?.tools).toMatchObject([{ name: "look" }]);
    },
  );

  test.each(["required", { type: "web_search" }])(
    "is refused where it may be the one to call: %j",
    async (choice) => {
      const response = await testApp().post(path, { ...offered, tool_choice: choice });
      expect(response.status).toBe(400);
      expect((await decodeError(response)).message).toContain("does not search the web");
    },
  );

  test("is named in the log once, however often it is offered", async () => {
    const app = testApp();
    for (let turn = 0; turn < 3; turn++) {
      app.chat.script(finish);
      await app.post(path, offered);
    }
    const named = app.log.filter(({ message }) => message.includes("not acted on"));
    expect(named.map(({ level }) => level)).toEqual(["info", "debug", "debug"]);
  });
});
