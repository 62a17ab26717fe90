/** Schemas of MCP messages: the JSON-RPC 2.0 envelope; MCP's SDK validates the rest. */
import { type Static, Type as T } from "@sinclair/typebox";
import { openObject, optional, unexamined } from "../../wire/fields.ts";

/** Protocol versions before 2025-06-18 send batches. */
const mostMessages = 8;

const id = T.Union([T.String({ maxLength: 256 }), T.Integer()], {
  "x-expected": "a text of at most 256 characters, or an integer",
  description: "Absent in a notification, whose answer is an empty 202.",
});

const Message = openObject({
  // Not a literal: the error for another version must name this field.
  jsonrpc: T.String({ pattern: "^2\\.0$", "x-expected": "'2.0'" }),
  id: T.Optional(id),
  method: optional(
    T.String({ maxLength: 256 }),
    "`initialize`, `tools/list`, `tools/call`, `resources/read`, …",
  ),
  params: T.Optional(openObject({})),
});

/** Unexamined: MCP's SDK reports unknown fields. */
export const McpMessage = unexamined(
  T.Union([Message, T.Array(Message, { minItems: 1, maxItems: mostMessages })], {
    description: `A message of the Model Context Protocol, or a list of 1 to ${mostMessages} of them.`,
  }),
);

export type McpMessage = Static<typeof McpMessage>;

export const messagesOf = (body: McpMessage): Static<typeof Message>[] =>
  Array.isArray(body) ? body : [body];

/** Whether it needs an answer: it is neither a notification nor an answer itself. */
export const isRequest = ({ id, method }: Static<typeof Message>): boolean =>
  id !== undefined && method !== undefined;

const Answer = openObject({
  jsonrpc: T.Literal("2.0"),
  id: T.Optional(T.Union([T.String(), T.Integer(), T.Null()])),
  result: T.Optional(openObject({})),
  error: T.Optional(openObject({ code: T.Integer(), message: T.String() })),
});

export const McpAnswer = T.Union([Answer, T.Array(Answer)], {
  description: "The answer to a message, or the answers to several.",
});
