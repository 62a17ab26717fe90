import { expect, test } from "bun:test";
import { NodeError, type Subject } from "../../../../src/core/errors.ts";
import { fieldNamesOf } from "../../../../src/server/operations/chat/operation.ts";
import type { ChatCompletionRequest } from "../../../../src/server/operations/chat/schema.ts";
import { messageNames } from "../../../../src/server/operations/messages/request.ts";
import { responseNames } from "../../../../src/server/operations/responses/tools.ts";
import { chatNames, type FieldNames, named } from "../../../../src/server/wire/field-names.ts";

const functionAt = (at: string) => ({ tool: { name: "f" }, at, wire: { name: "f" } });
const responses = responseNames({ functions: [functionAt("tools[0]"), functionAt("tools[2]")] });
const chat = (more: Partial<ChatCompletionRequest>): FieldNames =>
  fieldNamesOf({ model: "m", messages: [], ...more });

test.each<[string, FieldNames, Subject, string]>([
  ["chat", chatNames, { part: "tools", at: 2 }, "tools[2].function.parameters"],
  [
    "chat",
    chatNames,
    { part: "schema", inside: ".type" },
    "response_format.json_schema.schema.type",
  ],
  ["chat", chatNames, { part: "call", at: 3 }, "messages[3].tool_call_id"],
  ["functions", chat({ functions: [] }), { part: "tools", at: 1 }, "functions[1].parameters"],
  [
    "a JSON object",
    chat({ response_format: { type: "json_object" } }),
    { part: "schema" },
    "response_format.schema",
  ],
  ["Messages", messageNames, { part: "tools", at: 2 }, "tools[2].input_schema"],
  ["Messages", messageNames, { part: "schema" }, "output_config.format.schema"],
  ["Messages", messageNames, { part: "format" }, "output_config.format"],
  ["Responses", responses, { part: "tools", at: 1 }, "tools[2].parameters"],
  ["Responses", responses, { part: "schema" }, "text.format.schema"],
  ["Responses", responses, { part: "max tokens" }, "max_output_tokens"],
])("%s calls a part of a request by its own field", (_, names, subject, param) => {
  const error = new NodeError("invalid_request", "It is odd.", { subject });
  expect(named(error, names)).toMatchObject({
    kind: "invalid_request",
    param,
    message: `${param}: It is odd.`,
  });
});

test("a message that names the field, or the whole conversation, stays as it is", () => {
  const said = new NodeError("invalid_request", "tools[0].input_schema is odd.", {
    subject: { part: "tools", at: 0 },
  });
  expect(named(said, messageNames).message).toBe(said.message);
  const busy = new NodeError("overloaded", "Busy.", {
    subject: { part: "messages" },
    retryAfterMs: 5,
  });
  expect(named(busy, responses)).toMatchObject({
    param: "input",
    message: "Busy.",
    retryAfterMs: 5,
  });
});

test("an error about a field, or about none, stays as it is", () => {
  for (const error of [
    new NodeError("invalid_request", "Too much.", { param: "logit_bias" }),
    new NodeError("unavailable", "Away."),
  ]) {
    expect(named(error, messageNames)).toBe(error);
  }
});
