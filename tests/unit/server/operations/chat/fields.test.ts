import { describe, expect, test } from "bun:test";
import { fieldExaminer } from "../../../../../src/server/middleware/ignored-fields.ts";
import { ChatCompletionRequest } from "../../../../../src/server/operations/chat/schema.ts";

const ignoredFields = fieldExaminer(ChatCompletionRequest);

const body = { model: "m", messages: [{ role: "user", content: "Hi" }] } as const;

/** A body as it comes from the wire: any further fields, and null where the schema has it. */
const request = (more: Record<string, unknown>): ChatCompletionRequest => ({
  ...body,
  messages: [...body.messages],
  ...more,
});

describe("fields that the node does not act on", () => {
  test("are none in a request of known and harmless fields", () => {
    expect(
      ignoredFields(
        request({
          temperature: 1,
          tools: [],
          user: "me",
          metadata: { a: "b" },
          store: true,
          service_tier: "auto",
          safety_identifier: "x",
          prompt_cache_key: "x",
          prompt_cache_retention: "24h",
          prediction: { type: "content", content: "x" },
          modalities: ["text"],
          stream_options: { include_usage: true, include_obfuscation: false },
        }),
      ),
    ).toEqual([]);
  });

  test("are named, also inside of stream_options and messages", () => {
    expect(
      ignoredFields(
        request({
          messages: [
            { role: "system", content: "x", name: "boss" },
            { role: "assistant", content: "y", refusal: "no", reasoning_content: "hm", mood: 1 },
            { role: "user", content: "z" },
          ],
          reasoning_effort: "high",
          verbosity: "low",
          stream_options: { include_usage: true, colour: "red" },
        }),
      ),
    ).toEqual([
      "reasoning_effort",
      "verbosity",
      "messages[0].name",
      "messages[1].mood",
      "stream_options.colour",
    ]);
  });

  test("count as absent where they are null, even those that are refused", () => {
    expect(
      ignoredFields(
        request({
          reasoning_effort: null,
          audio: null,
          functions: null,
          modalities: null,
          messages: [{ role: "user", content: "Hi", name: null }],
        }),
      ),
    ).toEqual([]);
  });
});

describe("fields that cannot be honoured", () => {
  test.each([
    ["audio", { voice: "alloy", format: "mp3" }],
    ["web_search_options", {}],
    ["moderation", {}],
    ["modalities", ["text", "audio"]],
    ["modalities", "audio"],
  ])("are refused by their name: %s", (name, value) => {
    expect(() => ignoredFields(request({ [name]: value }))).toThrow(
      expect.objectContaining({
        kind: "invalid_request",
        param: name,
        message: expect.stringContaining(`'${name}' `),
      }),
    );
  });
});

describe("fields of a message that cannot be honoured", () => {
  test.each([["audio", { id: "audio_1" }]])("are refused by their place: %s", (name, value) => {
    const messages = [...body.messages, { role: "assistant", content: "x", [name]: value }];
    expect(() => ignoredFields(request({ messages }))).toThrow(
      expect.objectContaining({ kind: "invalid_request", param: `messages[1].${name}` }),
    );
  });
});
