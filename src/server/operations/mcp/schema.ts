/** Messages of MCP on the wire: JSON-RPC 2.0, which the protocol's own library reads further. */
import { type Static, Type as T } from "@sinclair/typebox";
import { open, optional, unexamined } from "../../wire/fields.ts";

/** Versions of the protocol before 2025-06-18 send several messages at once. */
const mostMessages = 8;

const id = T.Union([T.String({ maxLength: 256 }), T.Integer()], {
  "x-expected": "a text of at most 256 characters, or an integer",
  description: "Absent in a notification, which is answered with 202 and nothing else.",
});

const Message = T.Object(
  {
    // Not a literal: a message of another version is to be told which field it is.
    jsonrpc: T.String({ pattern: "^2\\.0$", "x-expected": "'2.0'" }),
    id: T.Optional(id),
    method: optional(
      T.String({ maxLength: 256 }),
      "`initialize`, `tools/list`, `tools/call`, `resources/read`, …",
    ),
    params: T.Optional(T.Object({}, open)),
  },
  open,
);

/** The protocol's own library says what it does not know. */
export const McpMessage = unexamined(
  T.Union([Message, T.Array(Message, { minItems: 1, maxItems: mostMessages })], {
    description: `A message of the Model Context Protocol, or a list of 1 to ${mostMessages} of them.`,
  }),
);

export type McpMessage = Static<typeof McpMessage>;

export const messagesOf = (body: McpMessage): Static<typeof Message>[] =>
  Array.isArray(body) ? body : [body];

/** Whether it is to be answered: not a notification, and not an answer itself. */
export const isRequest = ({ id, method }: Static<typeof Message>): boolean =>
  id !== undefined && method !== undefined;

const Answer = T.Object(
  {
    jsonrpc: T.Literal("2.0"),
    id: T.Optional(T.Union([T.String(), T.Integer(), T.Null()])),
    result: T.Optional(T.Object({}, open)),
    error: T.Optional(T.Object({ code: T.Integer(), message: T.String() }, open)),
  },
  open,
);

export const McpAnswer = T.Union([Answer, T.Array(Answer)], {
  description: "The answer to a message, or the answers to several.",
});
