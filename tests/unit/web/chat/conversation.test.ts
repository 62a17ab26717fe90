import { expect, test } from "bun:test";
import type { ChatRequest } from "../../../../src/client/api-client.ts";
import type { ChatCompletionChunk } from "../../../../src/client/wire.ts";
import {
  type AnswerTurn,
  type Conversation,
  exportFormats,
  fileNameOf,
  hasText,
  type Settings,
  type Turn,
  toRequest,
  withChunk,
} from "../../../../src/web/chat/conversation.ts";

const conversation: Conversation = {
  id: "1",
  title: "Do llamas hum?",
  createdAt: "2026-11-15T10:00:00.000Z",
  settings: { model: "chatty", system: "Be brief.\nBe kind.", grounded: "on" },
  turns: [
    { id: "2", role: "user", content: "Do llamas hum?" },
    {
      id: "3",
      role: "assistant",
      content: "They do [1].",
      model: "chatty",
      state: "done",
      retrieval: {
        points: [
          {
            source: "Llamas hum.",
            score: 0.756,
            metadata: { id: "a", document: "animals.md", heading: "Llamas", position: 0 },
          },
          { source: "Roses bloom.", score: 0.5 },
        ],
        dropped: 0,
      },
    },
  ],
};

test("as Markdown, a conversation reads as it was held, with the sources of its answers", () => {
  expect(exportFormats.Markdown.toText(conversation)).toBe(`# Do llamas hum?

chatty, 2026-11-15T10:00:00.000Z

> Be brief.
> Be kind.

## You

Do llamas hum?

## chatty

They do [1].

Sources:

1. animals.md, Llamas (0.76)
2. A passage (0.50)
`);
});

test("as JSON, a conversation loses nothing", () => {
  expect(JSON.parse(exportFormats.JSON.toText(conversation))).toEqual(conversation);
});

test.each([
  ["Do llamas hum?", "do-llamas-hum.md"],
  ["Où sont les lamas ?", "où-sont-les-lamas.md"],
  ["../../etc/passwd", "etc-passwd.md"],
  ["???", "conversation.md"],
])("the file of '%s' is %s", (title, name) => {
  expect(fileNameOf({ ...conversation, title }, "md")).toBe(name);
});

const turns: Turn[] = [
  { id: "1", role: "user", content: "one" },
  { id: "2", role: "assistant", content: "", model: "m", state: "failed" },
  { id: "3", role: "user", content: "two" },
  { id: "4", role: "assistant", content: "half", model: "m", state: "stopped" },
  { id: "5", role: "user", content: "three" },
];
const asked: Conversation = {
  id: "c",
  title: "t",
  createdAt: "2026-11-15T10:00:00.000Z",
  settings: { model: "m", system: "  ", grounded: "on", temperature: 0, seed: undefined },
  turns,
};

const imagesOf = (): string[] => [];

test("a request has the images of a question before its text, as far as the browser has them", () => {
  const known = (id: string): string[] => (id === "1" ? ["data:a", "data:b"] : []);
  const { messages } = toRequest(asked, { isLimited: true, imagesOf: known });
  expect(messages.slice(0, 2)).toEqual([
    {
      role: "user",
      content: [
        { type: "image_url", image_url: { url: "data:a" } },
        { type: "image_url", image_url: { url: "data:b" } },
        { type: "text", text: "one" },
      ],
    },
    { role: "user", content: "two" },
  ]);
});

test("a request has what was said, without answers that hold nothing, and the settings that are set", () => {
  expect(JSON.parse(JSON.stringify(toRequest(asked, { isLimited: true, imagesOf })))).toEqual({
    model: "m",
    stream_options: { include_usage: true },
    temperature: 0,
    rag: true,
    messages: [
      { role: "user", content: "one" },
      { role: "user", content: "two" },
      { role: "assistant", content: "half" },
      { role: "user", content: "three" },
    ],
  });
});

test.each([
  [undefined, false, 1024],
  [undefined, true, undefined],
  [2000, false, 2000],
  [7, true, 7],
])(
  "with %p of the reader's and a limit of the model's (%p) it asks for %p tokens",
  (max_tokens, isLimited, most) => {
    const changed = { ...asked, settings: { ...asked.settings, max_tokens } };
    expect(toRequest(changed, { isLimited, imagesOf }).max_tokens).toBe(most);
  },
);

test.each<[Partial<Settings>, ChatRequest["rag"]]>([
  [{ grounded: "off" }, false],
  [{ grounded: "on" }, true],
  [{ grounded: "on", passages: 2 }, { limit: 2 }],
  [{ grounded: "auto" }, "auto"],
  [
    { grounded: "auto", passages: 2 },
    { auto: true, limit: 2 },
  ],
  [{ grounded: "off", passages: 2 }, false],
  [{ grounded: "on", collections: [] }, true],
  [{ grounded: "on", collections: ["vs_1"] }, { vector_store_ids: ["vs_1"] }],
  [
    { grounded: "on", passages: 2, collections: ["a", "b"] },
    { limit: 2, vector_store_ids: ["a", "b"] },
  ],
  [{ grounded: "off", collections: ["vs_1"] }, false],
])("with %j it asks for rag %j", (settings, rag) => {
  const changed = { ...asked, settings: { ...asked.settings, ...settings } };
  const request = toRequest(changed, { isLimited: false, imagesOf });
  expect(request.rag).toEqual(rag);
  expect(request).not.toContainAnyKeys(["passages", "collections", "grounded"]);
});

type Choice = ChatCompletionChunk["choices"][number];

const begun: AnswerTurn = { id: "1", role: "assistant", content: "", model: "m", state: "writing" };
const timing = { firstTokenMs: 20, restMs: 30 };

const chunk = (
  delta: Choice["delta"],
  rest: Partial<ChatCompletionChunk> = {},
  reason: Choice["finish_reason"] = null,
): ChatCompletionChunk => ({
  id: "chatcmpl-1",
  object: "chat.completion.chunk",
  created: 0,
  model: "m",
  system_fingerprint: "fp_0",
  choices: [{ index: 0, delta, logprobs: null, finish_reason: reason }],
  ...rest,
});

test("an answer grows by text and thoughts, and ends with its reason, its counts and its sources", () => {
  const usage = {
    prompt_tokens: 5,
    completion_tokens: 3,
    total_tokens: 8,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 1 },
  };
  const retrieval = { points: [], dropped: 0 };
  const chunks = [
    chunk({ role: "assistant" }, { retrieval }),
    chunk({ reasoning_content: "h" }),
    chunk({ reasoning_content: "m" }),
    chunk({ content: "Hu" }),
    chunk({ content: "m." }, {}, "length"),
    chunk({}, { choices: [], usage }),
  ];
  expect(chunks.map(hasText)).toEqual([false, true, true, true, true, false]);
  expect(chunks.reduce((turn, one) => withChunk(turn, one, timing), begun)).toEqual({
    ...begun,
    thoughts: "hm",
    content: "Hum.",
    cut: true,
    retrieval,
    measures: { promptTokens: 5, tokens: 3, firstTokenMs: 20, restMs: 30 },
  });
});

test("an answer that ends by itself is not cut", () => {
  expect(withChunk(begun, chunk({}, {}, "stop"), timing)).toEqual({ ...begun, cut: false });
});

test("a chunk that brings the role alone leaves the answer as it is", () => {
  expect(withChunk(begun, chunk({ role: "assistant" }), timing)).toBe(begun);
});
