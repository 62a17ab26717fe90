import { describe, expect, test } from "bun:test";
import { noImages } from "../../../../src/server/wire/images.ts";
import type { Message } from "../../../../src/server/wire/message-schema.ts";
import { readParts, toChatMessages } from "../../../../src/server/wire/messages.ts";

const user: Message = { role: "user", content: "Hi" };
const call = (id: string, text = "{}") =>
  ({ id, type: "function", function: { name: "weather", arguments: text } }) as const;
const asks = (...ids: string[]): Message => ({
  role: "assistant",
  content: null,
  tool_calls: ids.map((id) => call(id)),
});
const answers = (id: string): Message => ({ role: "tool", tool_call_id: id, content: "sunny" });

describe("messages of the wire", () => {
  test("become the domain's, developer as system", () => {
    expect(
      toChatMessages([
        { role: "developer", content: "Be brief." },
        { role: "system", content: "Be kind." },
        user,
        { role: "assistant", content: "Hello", tool_calls: null },
      ]),
    ).toEqual([
      { role: "system", content: "Be brief." },
      { role: "system", content: "Be kind." },
      { role: "user", content: "Hi" },
      { role: "assistant", content: "Hello" },
    ]);
  });

  test("have their text parts joined, a refusal as what was said", () => {
    const parts = [
      { type: "text", text: "And " },
      { type: "refusal", refusal: "no." },
    ];
    expect(toChatMessages([user, { role: "assistant", content: parts }]).at(-1)).toEqual({
      role: "assistant",
      content: "And no.",
    });
  });

  test("may call tools and answer them, in any order", () => {
    expect(
      toChatMessages([
        user,
        {
          role: "assistant",
          content: "Let me see.",
          tool_calls: [call("a", '{"city":"Rome"}'), call("b", "")],
        },
        answers("b"),
        answers("a"),
        asks("c"),
        answers("c"),
      ]),
    ).toEqual([
      { role: "user", content: "Hi" },
      {
        role: "assistant",
        content: "Let me see.",
        toolCalls: [
          { id: "a", name: "weather", arguments: '{"city":"Rome"}' },
          { id: "b", name: "weather", arguments: "{}" },
        ],
      },
      { role: "tool", toolCallId: "b", content: "sunny" },
      { role: "tool", toolCallId: "a", content: "sunny" },
      {
        role: "assistant",
        content: "",
        toolCalls: [{ id: "c", name: "weather", arguments: "{}" }],
      },
      { role: "tool", toolCallId: "c", content: "sunny" },
    ]);
  });
});

describe("messages that cannot be taken", () => {
  const part = (type: string): Message => ({ role: "user", content: [{ type }] });
  const cases: [string, Message[], string, RegExp][] = [
    ["no user", [{ role: "system", content: "x" }], "messages", /role 'user'/],
    ["no content", [user, { role: "user" }], "messages[1].content", /is required/],
    ["null content", [{ role: "user", content: null }], "messages[0].content", /is required/],
    ["an assistant of nothing", [user, { role: "assistant" }], "messages[1].content", /required/],
    ["an image", [part("image_url")], "messages[0].content[0]", /is an image.*no images/],
    ["audio", [part("input_audio")], "messages[0].content[0]", /'input_audio'.*no audio/],
    ["a file", [part("file")], "messages[0].content[0]", /'file'.*no files/],
    ["another part", [part("smell")], "messages[0].content[0]", /no parts of type 'smell'/],
    ["text without text", [part("text")], "messages[0].content[0].text", /is required/],
    [
      "a result without an id",
      [user, asks("a"), { role: "tool", content: "x" }],
      "messages[2].tool_call_id",
      /is required for a message with the role 'tool'/,
    ],
    [
      "a result with an unknown id",
      [user, asks("a"), answers("b")],
      "messages[2].tool_call_id",
      /'b' answers no tool call/,
    ],
    [
      "a second result for one call",
      [user, asks("a"), answers("a"), answers("a")],
      "messages[3].tool_call_id",
      /'a' answers no tool call/,
    ],
    ["a result without a call", [user, answers("a")], "messages[1].tool_call_id", /no tool call/],
    [
      "a call that is not answered before the next message",
      [user, asks("a", "b"), answers("a"), user],
      "messages[3]",
      /tool calls b have no result/,
    ],
    ["a call that is never answered", [user, asks("a")], "messages", /tool calls a have no result/],
    [
      "a call by the user",
      [{ ...user, tool_calls: [call("a")] }],
      "messages[0].tool_calls",
      /role 'assistant'/,
    ],
    [
      "arguments that are not JSON",
      [
        user,
        { role: "assistant", tool_calls: [call("a"), call("b", "{")] },
        answers("a"),
        answers("b"),
      ],
      "messages[1].tool_calls[1].function.arguments",
      /is not JSON/,
    ],
  ];

  test.each(cases)("%s", (_, messages, param, message) => {
    expect(() => toChatMessages(messages)).toThrow(
      expect.objectContaining({
        kind: "invalid_request",
        param,
        message: expect.stringMatching(message),
      }),
    );
  });
});

const types = {
  readable: new Set(["text"]),
  names: new Map([["noise", "audio"]]),
  imageIn: () => undefined,
};
const read = (parts: Parameters<typeof readParts>[0]) =>
  readParts(parts, "content", types, noImages);

test("parts of text are joined", () => {
  const parts = [
    { type: "text", text: "a" },
    { type: "refusal", refusal: "b" },
  ];
  expect([read(parts), read("c")]).toEqual([{ content: "ab" }, { content: "c" }]);
});

test.each([
  ["noise", "no audio"],
  ["smell", "no parts of type 'smell'"],
  // The name of what every object has.
  ["constructor", "no parts of type 'constructor'"],
])("a part of type %s is rejected", (type, said) => {
  expect(() => read([{ type }])).toThrow(
    `'content[0]' has the type '${type}': this node's models read ${said}.`,
  );
});
