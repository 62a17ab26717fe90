import { describe, expect, test } from "bun:test";
import { NodeError } from "../../../../../src/core/errors.ts";
import { toMessages } from "../../../../../src/server/operations/responses/conversation.ts";
import type { InputItem } from "../../../../../src/server/operations/responses/request-schema.ts";

const user = (content: string): InputItem => ({ role: "user", content });
const said = (content: string): InputItem => ({ role: "assistant", content });
const call = (id: string): InputItem => ({
  type: "function_call",
  call_id: id,
  name: "look",
  arguments: "",
});
const output = (id: string, value = "found"): InputItem => ({
  type: "function_call_output",
  call_id: id,
  output: value,
});
const toolCall = (id: string) => ({ id, name: "look", arguments: "{}" });

function refusalOf(act: () => unknown): NodeError {
  try {
    act();
  } catch (error) {
    if (error instanceof NodeError) return error;
  }
  throw new Error("Nothing was refused");
}

describe("the items of a request", () => {
  test("join their text parts, whatever they are called", () => {
    const content = [
      { type: "input_text", text: "Hel" },
      { type: "output_text", text: "lo" },
      { type: "refusal", refusal: "!" },
    ];
    expect(toMessages([{ role: "user", content }])).toEqual([{ role: "user", content: "Hello!" }]);
  });

  test("make one message of an answer's text and its calls, in whatever order", () => {
    const answer = {
      role: "assistant" as const,
      content: "I look.",
      toolCalls: [toolCall("a"), toolCall("b")],
    };
    const results = ["a", "b"].map((id) => ({
      role: "tool" as const,
      toolCallId: id,
      content: "found",
    }));
    const question = { role: "user" as const, content: "Well?" };
    const outputs = [output("a"), output("b")];
    for (const items of [
      [said("I look."), call("a"), call("b"), ...outputs],
      [said("I look."), call("a"), { type: "reasoning" }, call("b"), ...outputs],
      [call("a"), call("b"), said("I look."), ...outputs],
    ]) {
      expect(toMessages([user("Well?"), ...items])).toEqual([question, answer, ...results]);
    }
  });

  test("make a message of each call whose output comes before the next", () => {
    const items = [user("Well?"), call("a"), output("a"), call("b"), output("b")];
    expect(toMessages(items).map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "tool",
      "assistant",
      "tool",
    ]);
  });

  test("keep messages of the assistant apart", () => {
    expect(toMessages([user("Well?"), said("One."), said("Two.")])).toHaveLength(3);
  });

  test("answer the calls of the conversation before them", () => {
    const before = [
      { role: "user" as const, content: "Well?" },
      { role: "assistant" as const, content: "", toolCalls: [toolCall("a"), toolCall("b")] },
      { role: "tool" as const, toolCallId: "a", content: "found" },
    ];
    expect(toMessages([output("b")], before)).toEqual([
      { role: "tool", toolCallId: "b", content: "found" },
    ]);
    expect(refusalOf(() => toMessages([output("a")], before)).param).toBe("input[0].call_id");
    expect(refusalOf(() => toMessages([user("Hm")], before)).param).toBe("input[0]");
    expect(refusalOf(() => toMessages([call("c")], before)).param).toBe("input[0]");
  });

  test.each<[string, InputItem[]]>([
    ["input", []],
    ["input", [said("Hi")]],
    ["input", [user("Well?"), call("a")]],
    ["input[0].role", [{ content: "Hi" }]],
    ["input[0].content", [{ role: "user" }]],
    ["input[0].content[0]", [{ role: "user", content: [{ type: "input_image" }] }]],
    ["input[0].content[0].text", [{ role: "user", content: [{ type: "input_text" }] }]],
    ["input[1]", [call("a"), user("Hi")]],
    ["input[2]", [call("a"), { type: "reasoning" }, user("Hi")]],
    ["input[3]", [call("a"), call("b"), output("a"), call("c")]],
    ["input[1].call_id", [call("a"), call("a")]],
    ["input[0].call_id", [{ type: "function_call", name: "f", arguments: "{}" }]],
    ["input[0].name", [{ type: "function_call", call_id: "a", arguments: "{}" }]],
    ["input[0].arguments", [{ ...call("a"), arguments: { at: 1 } }]],
    ["input[0].arguments", [{ ...call("a"), arguments: "{" }]],
    ["input[0].call_id", [{ type: "function_call_output", output: "x" }]],
    ["input[0].call_id", [output("a")]],
    ["input[1].output", [call("a"), { ...output("a"), output: { text: "x" } }]],
    ["input[1].output[0]", [call("a"), { ...output("a"), output: [{ type: "input_file" }] }]],
    ["input[0]", [{ type: "web_search_call" }]],
    ["input[0]", [{ type: "nothing" }]],
  ])("are refused by %s: %j", (param, items) => {
    expect(refusalOf(() => toMessages(items)).param).toBe(param);
  });

  test("are refused for arguments that are too much together", () => {
    const large = `[${"1,".repeat(600_000)}1]`;
    const items = [
      user("Well?"),
      { ...call("a"), arguments: large },
      { ...call("b"), arguments: large },
    ];
    expect(refusalOf(() => toMessages(items)).param).toBe("input[2].arguments");
  });
});
