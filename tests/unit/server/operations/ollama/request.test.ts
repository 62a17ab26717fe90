import { describe, expect, test } from "bun:test";
import { ModelRegistry } from "../../../../../src/core/models/model-registry.ts";
import {
  modelNamed,
  toChatMessages,
  toChatRequest,
  toCompletion,
  toGenerateChat,
  toSettings,
} from "../../../../../src/server/operations/ollama/request.ts";
import { asksToUnload, type Message } from "../../../../../src/server/operations/ollama/schema.ts";
import { noImages } from "../../../../../src/server/wire/images.ts";
import { noLibrary } from "../../../../support/test-app.ts";

const user: Message = { role: "user", content: "Light?" };
const called = (name: string, id?: string) => ({
  function: { name, arguments: { room: "attic" } },
  ...(id === undefined ? {} : { id }),
});
const calls = (...tool_calls: ReturnType<typeof called>[]): Message => ({
  role: "assistant",
  tool_calls,
});
const result = (content: string, more: Partial<Message> = {}): Message => ({
  role: "tool",
  content,
  ...more,
});

/** Which result answers which call, by the calls' ids. */
const pairs = (...messages: readonly Message[]): Record<string, string> =>
  Object.fromEntries(
    toChatMessages([user, ...messages]).flatMap((message) =>
      message.role === "tool" ? [[message.toolCallId, message.content]] : [],
    ),
  );

describe("a model's name", () => {
  const models = new ModelRegistry([
    { name: "tiny", type: "chat" },
    { name: "tagged:latest", type: "chat" },
    { name: "vectors", type: "embedding" },
  ]);
  const needs = { models, library: noLibrary };

  test.each([
    ["tiny", "tiny"],
    ["tiny:latest", "tiny"],
    ["tagged:latest", "tagged:latest"],
  ])("may have Ollama's usual tag: %s", async (asked, name) => {
    expect(await modelNamed(needs, asked, "chat")).toBe(name);
  });

  test.each(["tiny:7b", "nobody", "nobody:latest", ":latest"])(
    "is not found otherwise: %s",
    async (asked) => {
      await expect(modelNamed(needs, asked)).rejects.toThrow(
        expect.objectContaining({
          kind: "model_not_found",
          message: expect.stringContaining(`'${asked}' is not on this node`),
        }),
      );
    },
  );

  test("of a model of another type is not one to pull", async () => {
    await expect(modelNamed(needs, "vectors:latest", "chat")).rejects.toThrow(
      expect.objectContaining({
        kind: "invalid_request",
        message: "'vectors:latest' does not support chat: it is a model of type 'embedding'.",
      }),
    );
    expect(await modelNamed(needs, "vectors:latest")).toBe("vectors");
  });
});

describe("the results of tools", () => {
  test("answer the calls in their order if they name none", () => {
    expect(
      pairs(calls(called("light"), called("look")), result("first"), result("second")),
    ).toEqual({ call_1_0: "first", call_1_1: "second" });
  });

  test("answer the calls that they name, by id", () => {
    const asked = calls(called("light", "a"), called("light", "b"));
    expect(
      pairs(asked, result("of b", { tool_call_id: "b" }), result("of a", { tool_call_id: "a" })),
    ).toEqual({ a: "of a", b: "of b" });
  });

  test("answer the next call of the tool that they name", () => {
    const asked = calls(called("light", "a"), called("look", "b"), called("light", "c"));
    expect(
      pairs(
        asked,
        result("a look", { tool_name: "look" }),
        result("a light", { tool_name: "light" }),
        result("another", { tool_name: "light" }),
      ),
    ).toEqual({ a: "a light", b: "a look", c: "another" });
  });

  test("may be named in one way and in another", () => {
    const asked = calls(called("light", "a"), called("light", "b"), called("look", "c"));
    expect(
      pairs(
        asked,
        result("of a", { tool_call_id: "a" }),
        result("of b", { tool_name: "light" }),
        result("of c"),
      ),
    ).toEqual({ a: "of a", b: "of b", c: "of c" });
  });

  test("may have ids that the calls came back without", () => {
    expect(
      pairs(
        calls(called("light"), called("look")),
        result("a look", { tool_call_id: "b", tool_name: "look" }),
        result("a light", { tool_call_id: "a" }),
      ),
    ).toEqual({ call_1_0: "a light", call_1_1: "a look" });
  });

  test.each([
    ["without a call", [result("x")], "messages[1]"],
    ["with too many results", [calls(called("light")), result("x"), result("y")], "messages[3]"],
    ["with another id", [calls(called("light", "a")), result("x", { tool_call_id: "z" })], "'z'"],
    ["without a result", [calls(called("light")), user], "have no result"],
  ] as const)("are rejected %s", (_, messages, told) => {
    expect(() => toChatMessages([user, ...messages])).toThrow(
      expect.objectContaining({
        kind: "invalid_request",
        message: expect.stringContaining(told),
      }),
    );
  });

  test("do not stand in other messages", () => {
    const odd: Message = { role: "user", tool_calls: [called("light")] };
    expect(() => toChatMessages([odd])).toThrow("'messages[0].tool_calls' is for messages");
  });
});

describe("a chat", () => {
  test("has Ollama's options as the domain's settings", () => {
    const request = toChatRequest(
      {
        model: "tiny:latest",
        messages: [{ role: "system", content: "Be brief." }, user],
        format: "json",
        logprobs: true,
        options: {
          ...{ num_predict: 9, temperature: 0.5, top_k: 3, top_p: 0.9, min_p: 0.1, seed: 7 },
          ...{ repeat_penalty: 1.1, repeat_last_n: 64, presence_penalty: 1, frequency_penalty: 2 },
          stop: ["END"],
        },
      },
      "tiny",
      noImages,
    );
    expect(request).toEqual({
      model: "tiny",
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "Light?" },
      ],
      sampling: {
        ...{ temperature: 0.5, topK: 3, topP: 0.9, minP: 0.1, repeatPenalty: 1.1 },
        ...{ repeatLastN: 64, presencePenalty: 1, frequencyPenalty: 2 },
      },
      ...{ maxTokens: 9, seed: 7, stop: ["END"], topLogprobs: 0, format: "json" },
    });
  });

  test("takes parts of a tool's schema that no grammar can hold", () => {
    const tool = {
      type: "function" as const,
      function: { name: "light", parameters: { not: {} } },
    };
    expect(
      toChatRequest({ model: "tiny", messages: [user], tools: [tool] }, "tiny", noImages),
    ).toMatchObject({
      toolUse: {
        tools: [{ name: "light", parameters: { not: {} }, strict: false }],
        choice: "auto",
        parallel: true,
      },
    });
  });

  test.each([
    [{ options: { num_predict: -1, seed: -1, stop: [] } }, {}],
    [{ options: { num_predict: -2, stop: "END" } }, { stop: ["END"] }],
    [{ logprobs: true, top_logprobs: 3 }, { topLogprobs: 3 }],
    [{ logprobs: false, top_logprobs: 0 }, {}],
    [{ options: null }, {}],
  ])("has no limit, seed or stop where Ollama has none: %j", (body, settings) => {
    expect(toSettings(body)).toEqual({ sampling: {}, ...settings });
  });

  test("needs logprobs for top_logprobs", () => {
    expect(() => toSettings({ top_logprobs: 2 })).toThrow("'top_logprobs' needs 'logprobs'");
  });

  test.each([
    ["", undefined],
    [{ type: "null" }, { schema: { type: "null" } }],
  ] as const)("has the format %j as the domain's", (format, expected) => {
    expect(toChatRequest({ model: "a", messages: [user], format }, "a", noImages).format).toEqual(
      expected,
    );
  });
});

describe("a prompt", () => {
  const body = { model: "a", prompt: "Hello" };

  test("is a chat of its own, with its system prompt", () => {
    expect(toGenerateChat({ ...body, system: "Be brief." }, "a", noImages)).toEqual({
      model: "a",
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "Hello" },
      ],
      sampling: {},
    });
  });

  test.each([
    [-1, {}, {}],
    [5, {}, { maxTokens: 5 }],
    [5, { options: { num_predict: 7 } }, { maxTokens: 7 }],
    [-1, { raw: false, suffix: "end" }, { suffix: "end" }],
  ])("is continued as it is, up to the model's %d tokens or its own: %j", (own, more, expected) => {
    expect(toCompletion({ ...body, raw: true, ...more }, "a", own)).toEqual({
      ...{ model: "a", prompts: ["Hello"], choices: 1, sampling: {} },
      ...expected,
    });
  });

  test.each([
    [{ raw: true, system: "a" }, "'system' cannot be combined with 'raw'"],
    [{ raw: true, format: "json" as const }, "'format' cannot be combined with 'raw'"],
    [{ suffix: "a", rag: true }, "'rag' cannot be combined with 'suffix'"],
  ])("is not continued with what needs a chat: %j", (more, told) => {
    expect(() => toCompletion({ ...body, ...more }, "a", -1)).toThrow(told);
  });
});

describe("a request without a prompt", () => {
  test.each([0, "0", "0s", "0m", "0.0h", "-0"])("asks to unload the model: %j", (keepAlive) => {
    expect(asksToUnload(keepAlive)).toBe(true);
  });

  test.each([undefined, null, 5, -1, "5m", "10s", "", "s", "forever"])(
    "asks to load it: %j",
    (keepAlive) => {
      expect(asksToUnload(keepAlive)).toBe(false);
    },
  );
});
