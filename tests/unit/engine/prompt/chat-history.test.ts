import { describe, expect, test } from "bun:test";
import type { ChatMessage } from "../../../../src/core/ports/chat-engine.ts";
import { textsOf, toChatHistory } from "../../../../src/engine/prompt/chat-history.ts";

const user: ChatMessage = { role: "user", content: "Weather?" };
const call = (id: string, name: string, text: string) => ({ id, name, arguments: text });
const calls = (...toolCalls: ReturnType<typeof call>[]): ChatMessage => ({
  role: "assistant",
  content: "",
  toolCalls,
});
const result = (toolCallId: string, content: string): ChatMessage => ({
  role: "tool",
  toolCallId,
  content,
});

const called = (name: string, params: unknown, told: unknown, startsNewChunk = true) => ({
  type: "functionCall",
  name,
  params,
  result: told,
  startsNewChunk,
});

describe("a conversation for the model", () => {
  test("ends in the turn that the model is to write", () => {
    const messages: ChatMessage[] = [
      { role: "system", content: "Be brief." },
      { role: "user", content: "One?" },
      { role: "assistant", content: "1." },
      { role: "user", content: "Two?" },
    ];
    expect<unknown>(toChatHistory(messages)).toEqual([
      { type: "system", text: "Be brief." },
      { type: "user", text: "One?" },
      { type: "model", response: ["1."] },
      { type: "user", text: "Two?" },
      { type: "model", response: [] },
    ]);
  });

  test("begins a new turn after an assistant's message", () => {
    expect<unknown>(toChatHistory([user, { role: "assistant", content: "Sunny." }])).toEqual([
      { type: "user", text: "Weather?" },
      { type: "model", response: ["Sunny."] },
      { type: "model", response: [] },
    ]);
  });

  test("goes on with the turn whose calls were answered last", () => {
    const messages = [user, calls(call("a", "weather", '{"city":"Rome"}')), result("a", "sunny")];
    expect<unknown>(toChatHistory(messages)).toEqual([
      { type: "user", text: "Weather?" },
      { type: "model", response: [called("weather", { city: "Rome" }, "sunny")] },
    ]);
  });

  test("has several calls of one message in one chunk, each with its own result", () => {
    const messages = [
      user,
      calls(call("a", "weather", "{}"), call("b", "time", '{"zone":1}')),
      result("b", '{"hour":12}'),
      result("a", "17"),
    ];
    expect<unknown>(toChatHistory(messages)).toEqual([
      { type: "user", text: "Weather?" },
      {
        type: "model",
        response: [called("weather", {}, 17), called("time", { zone: 1 }, { hour: 12 }, false)],
      },
    ]);
  });

  test("has what is nested too deep to be written again as text", () => {
    const deep = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
    const messages = [user, calls(call("a", "weather", deep)), result("a", deep)];
    const [, turn] = toChatHistory(messages);
    expect(Object(turn).response).toEqual([called("weather", deep, deep)]);
  });

  test("has much that is nested as text too, and what tools write as a value", () => {
    const nested = `${"[".repeat(200)}${"1,".repeat(5000)}1${"]".repeat(200)}`;
    const flat = JSON.stringify(Array.from({ length: 5000 }, (_, at) => ({ at, of: [{ b: 1 }] })));
    const messages = [user, calls(call("a", "weather", nested)), result("a", flat)];
    const [, turn] = toChatHistory(messages);
    expect(Object(turn).response).toEqual([called("weather", nested, JSON.parse(flat))]);
  });

  test("is as long as its texts, its calls and their results together", () => {
    const messages = [user, calls(call("a", "weather", "{}")), result("a", "sunny")];
    expect([...textsOf(messages)]).toEqual(["Weather?", "", "{}", "sunny"]);
  });

  test("has the answer that follows a result in the turn of the call, with the words before it", () => {
    const messages: ChatMessage[] = [
      user,
      { role: "assistant", content: "Let me look.", toolCalls: [call("a", "weather", "{}")] },
      result("a", "sunny"),
      { role: "assistant", content: "It is sunny." },
      { role: "user", content: "Thanks." },
    ];
    expect<unknown>(toChatHistory(messages)).toEqual([
      { type: "user", text: "Weather?" },
      {
        type: "model",
        response: ["Let me look.", called("weather", {}, "sunny"), "It is sunny."],
      },
      { type: "user", text: "Thanks." },
      { type: "model", response: [] },
    ]);
  });

  test("has the next round of calls in the same turn, as a chunk of its own", () => {
    const messages = [
      user,
      calls(call("a", "weather", "{}")),
      result("a", "1"),
      calls(call("b", "weather", "{}")),
      result("b", "2"),
    ];
    expect<unknown>(toChatHistory(messages)).toEqual([
      { type: "user", text: "Weather?" },
      { type: "model", response: [called("weather", {}, 1), called("weather", {}, 2)] },
    ]);
  });

  test("keeps the result of each round where two rounds use one id", () => {
    const messages = [
      user,
      calls(call("call_0", "weather", "{}")),
      result("call_0", "first"),
      { role: "user", content: "Again?" } as const,
      calls(call("call_0", "weather", "{}")),
      result("call_0", "second"),
    ];
    expect<unknown>(toChatHistory(messages)).toEqual([
      { type: "user", text: "Weather?" },
      { type: "model", response: [called("weather", {}, "first")] },
      { type: "user", text: "Again?" },
      { type: "model", response: [called("weather", {}, "second")] },
    ]);
  });
});
