import { describe, expect, test } from "bun:test";
import { fieldExaminer } from "../../../../../src/server/middleware/ignored-fields.ts";
import { toChatRequest, toPrompt } from "../../../../../src/server/operations/messages/request.ts";
import {
  CountTokensRequest,
  MessageRequest,
} from "../../../../../src/server/operations/messages/schema.ts";
import { noImages } from "../../../../../src/server/wire/images.ts";

const ignoredFields = fieldExaminer(MessageRequest);
const ignoredInCount = fieldExaminer(CountTokensRequest);

/** A body as it comes from the wire: any further fields. */
const request = (more: Record<string, unknown>): MessageRequest => ({
  model: "m",
  max_tokens: 5,
  messages: [{ role: "user", content: "Hi" }],
  ...more,
});

const schema = { type: "boolean" };
const format = { type: "json_schema", schema };

describe("fields that the node does not act on", () => {
  test.each([
    [{ tool_choice: { type: "any", colour: "red" } }, ["tool_choice.colour"]],
    [{ tool_choice: { type: "auto", name: "look_up" } }, ["tool_choice.name"]],
    [{ tool_choice: { type: "tool", name: "look_up", disable_parallel_tool_use: true } }, []],
    [{ output_config: { format: { ...format, name: "a" } } }, ["output_config.format.name"]],
    [{ output_format: { ...format, strict: true } }, ["output_format.strict"]],
    [{ output_config: { format: null }, output_format: format }, []],
  ])("are named in options: %j", (more, names) => {
    expect(ignoredFields(request(more))).toEqual(names);
    expect(ignoredInCount(request(more))).toEqual(["max_tokens", ...names]);
  });

  test("are named in the blocks of what a tool answered", () => {
    const answered = [
      { type: "text", text: "a", cache_control: { type: "ephemeral" }, citations: null },
      { type: "text", text: "b", mood: "good" },
    ];
    const content = [
      { type: "tool_result", tool_use_id: "c", content: "a" },
      { type: "tool_result", tool_use_id: "c", content: answered, colour: "red" },
    ];
    expect(ignoredFields(request({ messages: [{ role: "user", content }] }))).toEqual([
      "messages[0].content[1].colour",
      "messages[0].content[1].content[1].mood",
    ]);
  });
});

describe("the two names of an answer's form", () => {
  test("do not stand beside each other", () => {
    const both = request({ output_config: { format }, output_format: format });
    for (const read of [toChatRequest, toPrompt]) {
      expect(() => read(both, noImages)).toThrow(
        expect.objectContaining({ kind: "invalid_request", param: "output_format" }),
      );
    }
  });
});
