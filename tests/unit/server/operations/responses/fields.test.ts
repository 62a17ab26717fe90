import { describe, expect, test } from "bun:test";
import { fieldExaminer } from "../../../../../src/server/middleware/ignored-fields.ts";
import { ResponseRequest } from "../../../../../src/server/operations/responses/request-schema.ts";
import type { ToolChoice } from "../../../../../src/server/operations/responses/tools.ts";

const ignoredFields = fieldExaminer(ResponseRequest);

const ignored = (more: Partial<ResponseRequest>): string[] =>
  ignoredFields({ model: "chatty", input: "Hello", ...more });
const ofItem = (item: object): string[] => ignored({ input: [item] });

describe("what a response's request has that the node does not act on", () => {
  test.each([
    ["a message", { role: "user", content: "a", name: "ada", output: "b" }, ["name", "output"]],
    ["a call", { type: "function_call", call_id: "c", name: "f", content: "a" }, ["content"]],
    ["an output", { type: "function_call_output", call_id: "c", arguments: "" }, ["arguments"]],
    ["thoughts", { type: "reasoning", summary: [], role: "user" }, ["role"]],
    ["a search", { type: "file_search_call", queries: [], call_id: "c" }, ["call_id"]],
    ["a reference", { type: "item_reference", id: "msg_1", content: "a" }, ["content"]],
    ["an id alone", { id: "msg_1", content: "a" }, ["content"]],
  ])("is named by the type of its item: %s", (_, item, names) => {
    expect(ofItem(item)).toEqual(names.map((name) => `input[0].${name}`));
  });

  test("is nothing where it is null, or where the item is refused anyway", () => {
    expect(ofItem({ role: "user", content: "a", name: null })).toEqual([]);
    expect(ofItem({ type: "computer_call", action: {} })).toEqual([]);
    expect(ofItem({ role: "user", content: [{ type: "input_image", image_url: "x" }] })).toEqual(
      [],
    );
  });

  test("is named in parts of messages and of outputs", () => {
    const part = { type: "input_text", text: "a", image_url: "x", prompt_cache_breakpoint: {} };
    const said = { type: "output_text", text: "a", annotations: [], logprobs: [], refusal: "no" };
    const input = [
      { role: "user" as const, content: [said, part] },
      { type: "function_call_output", call_id: "c", output: [part, 1, null] },
      { role: "assistant" as const, content: [{ type: "refusal", refusal: "no", text: "a" }] },
    ];
    expect(ignored({ input })).toEqual([
      "input[0].content[0].refusal",
      "input[0].content[1].image_url",
      "input[1].output[0].image_url",
      "input[2].content[0].text",
    ]);
  });

  test("is rejected in a search by the field's whole name", () => {
    const search: object = { vector_store_ids: ["a"], ranking_options: { hybrid_search: {} } };
    const param = "tools[0].ranking_options.hybrid_search";
    expect(() => ignored({ tools: [{ type: "file_search", ...search }] })).toThrow(
      expect.objectContaining({ param, message: expect.stringContaining(`'${param}' `) }),
    );
  });

  test("is named in a choice of tools, and in those that it allows", () => {
    const choice = (tool_choice: ToolChoice) => ignored({ tool_choice });
    expect(choice("auto")).toEqual([]);
    expect(choice({ type: "function", name: "f", mode: "auto" })).toEqual(["tool_choice.mode"]);
    const search: object = { type: "file_search", vector_store_ids: [] };
    expect(choice({ type: "file_search", ...search })).toEqual(["tool_choice.vector_store_ids"]);
    const tools = [
      { type: "function", name: "f", strict: true },
      { type: "file_search", ...search },
    ];
    expect(choice({ type: "allowed_tools", mode: "auto", tools, name: "f" })).toEqual([
      "tool_choice.name",
      "tool_choice.tools[0].strict",
      "tool_choice.tools[1].vector_store_ids",
    ]);
  });
});
