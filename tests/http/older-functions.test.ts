import { describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import OpenAI from "openai";
import { ChatCompletionChunk } from "../../src/server/operations/chat/schema.ts";
import { listeningApp } from "../support/listening-app.ts";
import { finish } from "../support/scripted-engines.ts";
import { readFrames } from "../support/sse.ts";
import { testApp } from "../support/test-app.ts";

const path = "/v1/chat/completions";
const user = { role: "user", content: "Rain?" } as const;
const parameters = { type: "object", properties: { city: { type: "string" } } };
const weather = { name: "weather", description: "Tells it.", parameters };
const body = { model: "chatty", messages: [user], functions: [weather] };

const calls = [
  { type: "tool-call", index: 0, id: "call_1", name: "weather" },
  { type: "tool-arguments", index: 0, text: '{"city":' },
  { type: "tool-arguments", index: 0, text: '"Oslo"}' },
  { ...finish, reason: "tool_calls" },
] as const;

describe("functions, the older form of tools", () => {
  test.each([
    [undefined, "auto"],
    ["auto", "auto"],
    [{ name: "weather" }, { name: "weather" }],
  ])("are offered with function_call %j as tools of which one is called", async (asked, choice) => {
    const app = testApp();
    app.chat.script(finish);
    const response = await app.post(path, { ...body, function_call: asked });
    expect([response.status, response.headers.get("x-paddock-ignored")]).toEqual([200, null]);
    const offered = { tools: [weather], choice, parallel: false };
    expect<unknown>(app.chat.requests[0]?.toolUse).toEqual(offered);
  });

  test("are not offered with function_call 'none'", async () => {
    const app = testApp();
    app.chat.script(finish);
    await app.post(path, { ...body, function_call: "none" });
    expect(app.chat.requests[0]?.toolUse).toBeUndefined();
  });

  test("are called in the older form", async () => {
    const app = testApp();
    app.chat.script(...calls);
    const response = await app.post(path, body);
    expect(await response.json()).toMatchObject({
      choices: [
        {
          message: {
            role: "assistant",
            content: null,
            function_call: { name: "weather", arguments: '{"city":"Oslo"}' },
          },
          finish_reason: "function_call",
        },
      ],
    });
  });

  test("are called in the older form in a stream too", async () => {
    const app = testApp();
    app.chat.script(...calls);
    const response = await app.post(path, { ...body, stream: true });
    const frames = (await readFrames(response)).filter((frame) => frame !== "[DONE]");
    expect(frames.join()).not.toContain("tool_calls");
    const choices = frames.flatMap((frame) => chunkOf(frame).choices);
    expect(choices.flatMap(({ delta }) => delta.function_call ?? [])).toEqual([
      { name: "weather", arguments: "" },
      { arguments: '{"city":' },
      { arguments: '"Oslo"}' },
    ]);
    expect(choices.at(-1)?.finish_reason).toBe("function_call");
  });

  test("go on from a call and its result", async () => {
    const app = testApp();
    app.chat.script({ type: "text", text: "Dry." }, finish);
    const messages = [
      user,
      { role: "assistant", content: null, function_call: { name: "weather", arguments: "{}" } },
      { role: "function", name: "weather", content: "dry" },
    ];
    const response = await app.post(path, { ...body, messages });
    expect([response.status, response.headers.get("x-paddock-ignored")]).toEqual([200, null]);
    const [, asked, answered] = app.chat.requests[0]?.messages ?? [];
    expect(asked).toMatchObject({
      role: "assistant",
      toolCalls: [{ name: "weather", arguments: "{}" }],
    });
    const id = asked?.role === "assistant" ? asked.toolCalls?.[0]?.id : undefined;
    expect(answered).toEqual({ role: "tool", content: "dry", toolCallId: id ?? "" });
  });

  test("work with the openai package", async () => {
    await using app = listeningApp();
    app.chat.script(...calls);
    const client = new OpenAI({ baseURL: `${app.origin}/v1`, apiKey: "any" });
    const { choices } = await client.chat.completions.create(body);
    expect(choices[0]?.message.function_call).toEqual({
      name: "weather",
      arguments: '{"city":"Oslo"}',
    });
    expect(choices[0]?.finish_reason).toBe("function_call");
  });
});

function chunkOf(frame: string): ChatCompletionChunk {
  const chunk: unknown = JSON.parse(frame);
  if (Value.Check(ChatCompletionChunk, chunk)) return chunk;
  throw new Error(`Not a chunk: ${frame}`);
}
