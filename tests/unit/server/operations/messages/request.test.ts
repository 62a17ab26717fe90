import { describe, expect, test } from "bun:test";
import { toConversation } from "../../../../../src/server/operations/messages/request.ts";
import type { Message } from "../../../../../src/server/operations/messages/schema.ts";

const user = (content: Message["content"]): Message => ({ role: "user", content });
const assistant = (content: Message["content"]): Message => ({ role: "assistant", content });
const text = (value: string) => ({ type: "text", text: value });
const call = (id: string, input: unknown = {}) => ({ type: "tool_use", id, name: "look", input });
const result = (id: string, rest: object = {}) => ({
  type: "tool_result",
  tool_use_id: id,
  ...rest,
});

const read = (...messages: Message[]) => toConversation({ messages });
const refusal = (...messages: Message[]): string => {
  try {
    read(...messages);
  } catch (error) {
    return error instanceof Error ? error.message : "";
  }
  throw new Error("It was not refused");
};

describe("a conversation of Anthropic's API", () => {
  test("begins with its system prompt, as text or in blocks", () => {
    expect(toConversation({ system: "Be brief.", messages: [user("Hi")] })).toEqual([
      { role: "system", content: "Be brief." },
      { role: "user", content: "Hi" },
    ]);
    expect(
      toConversation({ system: [text("Be brief."), text("Be kind.")], messages: [user("Hi")] })[0],
    ).toEqual({ role: "system", content: "Be brief.\n\nBe kind." });
    expect(toConversation({ system: [], messages: [user("Hi")] })).toHaveLength(1);
    expect(toConversation({ system: null, messages: [user("Hi")] })).toHaveLength(1);
  });

  test("joins messages of one role, and may begin with the assistant's", () => {
    expect(
      read(
        assistant("Welcome."),
        user("One"),
        user([text("Two"), text("Three")]),
        assistant([text("A"), text("B")]),
        assistant("C"),
        user("Four"),
      ),
    ).toEqual([
      { role: "assistant", content: "Welcome." },
      { role: "user", content: "One\n\nTwo\n\nThree" },
      { role: "assistant", content: "AB\n\nC" },
      { role: "user", content: "Four" },
    ]);
  });

  test("keeps instructions where they stand", () => {
    expect(read(user("One"), { role: "system", content: "Be brief." }, user("Two"))).toEqual([
      { role: "user", content: "One" },
      { role: "system", content: "Be brief." },
      { role: "user", content: "Two" },
    ]);
  });

  test("has calls with their results, over several turns, and the texts behind them", () => {
    expect(
      read(
        user("Look"),
        assistant([
          { type: "thinking", thinking: "Hm", signature: "s" },
          text("I look."),
          call("a", { at: "sky" }),
          call("b"),
        ]),
        user([result("b", { content: [text("blue"), text("grey")] })]),
        user([result("a", { content: "cloud", is_error: true }), text("And now?")]),
        assistant([call("c")]),
        user([result("c")]),
      ),
    ).toEqual([
      { role: "user", content: "Look" },
      {
        role: "assistant",
        content: "I look.",
        toolCalls: [
          { id: "a", name: "look", arguments: '{"at":"sky"}' },
          { id: "b", name: "look", arguments: "{}" },
        ],
      },
      { role: "tool", toolCallId: "b", content: "blue\n\ngrey" },
      { role: "tool", toolCallId: "a", content: "Error: cloud" },
      { role: "user", content: "And now?" },
      { role: "assistant", content: "", toolCalls: [{ id: "c", name: "look", arguments: "{}" }] },
      { role: "tool", toolCallId: "c", content: "" },
    ]);
  });

  test("may have nothing of the user's but results, where older turns were cut off", () => {
    expect(read(assistant([call("a")]), user([result("a", { content: "blue" })]))).toEqual([
      { role: "assistant", content: "", toolCalls: [{ id: "a", name: "look", arguments: "{}" }] },
      { role: "tool", toolCallId: "a", content: "blue" },
    ]);
  });

  test.each<[string, Message[], string]>([
    [
      "without the user",
      [assistant("Hi")],
      "The conversation needs a message with the role 'user'.",
    ],
    [
      "with a prefilled answer",
      [user("Hi"), assistant("It is")],
      "'messages[1]' is the last and has the role 'assistant': assistant message prefill is not supported",
    ],
    [
      "with a call at its end",
      [user("Hi"), assistant([call("a")])],
      "The tool calls a have no result",
    ],
    [
      "with a call that is not answered",
      [user("Hi"), assistant([call("a"), call("b")]), user([result("a"), text("So?")])],
      "messages[2]: The tool calls b have no result",
    ],
    [
      "with a result of no call",
      [user("Hi"), assistant("Yes"), user([result("z")])],
      "messages[2].content[0].tool_use_id: 'z' answers no tool call of the message before it.",
    ],
    [
      "with a result behind a text",
      [user("Hi"), assistant([call("a")]), user([text("So?"), result("a")])],
      "'messages[2].content[1]' comes behind a text",
    ],
    [
      "with a result behind a message",
      [user("Hi"), assistant([call("a")]), user("So?"), user([result("a")])],
      "'messages[3].content[0]' comes behind a text",
    ],
    [
      "with a call of the user's",
      [user([call("a")])],
      "'messages[0].content[0]' has the type 'tool_use', which is for messages with the role 'assistant'.",
    ],
    [
      "with a result of the assistant's",
      [user("Hi"), assistant([result("a")])],
      "'messages[1].content[0]' has the type 'tool_result', which is for messages with the role 'user'.",
    ],
    [
      "with an image in a result",
      [user("Hi"), assistant([call("a")]), user([result("a", { content: [{ type: "image" }] })])],
      "'messages[2].content[0].content[0]' is an image; this operation reads text only, no images.",
    ],
    [
      "with a call without an id",
      [user("Hi"), assistant([{ type: "tool_use", name: "look", input: {} }])],
      "'messages[1].content[0].id' is required: a string.",
    ],
    [
      "with a call of nothing",
      [user("Hi"), assistant([{ type: "tool_use", id: "a", input: {} }])],
      "'messages[1].content[0].name' is required: a string.",
    ],
    [
      "with a call with a list",
      [user("Hi"), assistant([call("a", [])])],
      "'messages[1].content[0].input' must be an object.",
    ],
    [
      "with a result that names no call",
      [user([{ type: "tool_result" }])],
      "'messages[0].content[0].tool_use_id' is required: a string.",
    ],
    [
      "with a text that has none",
      [user([{ type: "text" }])],
      "'messages[0].content[0].text' is required: a string.",
    ],
  ])("is refused %s", (_, messages, message) => {
    expect(refusal(...messages)).toStartWith(message);
  });
});
