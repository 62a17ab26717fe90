/** POST /mcp: the JSON-RPC 2.0 envelope of MCP messages; MCP's SDK validates the rest. */
import { type Static, Type as T } from "@sinclair/typebox";
import type { DocumentCaller } from "../../core/documents/document-caller.ts";
import { NodeError } from "../../core/errors.ts";
import type { Scope } from "../../core/limits/api-key.ts";
import type { Log } from "../../core/log.ts";
import type { Report } from "../../core/ports/telemetry.ts";
import { type ErrorFormat, errorBody } from "../middleware/errors.ts";
import { documentErrors } from "../openapi.ts";
import { defineOperation, described, namedSchema } from "../operation.ts";
import { ErrorAnswer, openObject, optional, unexamined } from "../wire/fields.ts";

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
const McpMessage = unexamined(
  T.Union([Message, T.Array(Message, { minItems: 1, maxItems: mostMessages })], {
    description: `A message of the Model Context Protocol, or a list of 1 to ${mostMessages} of them.`,
  }),
);

type McpMessage = Static<typeof McpMessage>;

const messagesOf = (body: McpMessage): Static<typeof Message>[] =>
  Array.isArray(body) ? body : [body];

/** Whether it needs an answer: it is neither a notification nor an answer itself. */
const isRequest = ({ id, method }: Static<typeof Message>): boolean =>
  id !== undefined && method !== undefined;

const Answer = openObject({
  jsonrpc: T.Literal("2.0"),
  id: T.Optional(T.Union([T.String(), T.Integer(), T.Null()])),
  result: T.Optional(openObject({})),
  error: T.Optional(openObject({ code: T.Integer(), message: T.String() })),
});

const McpAnswer = T.Union([Answer, T.Array(Answer)], {
  description: "The answer to a message, or the answers to several.",
});

/** MCP clients with OAuth look for a sign-in page, so the error says that a key is needed. */
const noSignIn = "There is no OAuth here: write the key into the settings of your editor or agent.";

const mcpErrors: ErrorFormat = {
  ...namedSchema({ Error: ErrorAnswer }),
  body(error, { message }) {
    const { error: told } = errorBody(error);
    const isKey = error.kind === "unauthenticated";
    return { error: { ...told, message: isKey ? `${message} ${noSignIn}` : message } };
  },
};

export const mcp = defineOperation({
  route: "POST /mcp",
  name: "mcp",
  operationId: "postMcpMessage",
  summary: "Documents for agents, over the Model Context Protocol",
  description:
    "MCP's streamable HTTP without sessions: each message gets its own answer, as JSON. Tools search documents, read around a passage, and list collections and documents; documents are resources. Lists and resources also require the scope `documents`. A notification gets a 202.",
  tag: "Retrieval",
  scope: "retrieve",
  body: {
    ...namedSchema({ McpMessage }),
    example: {
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "search_documents", arguments: { query: "How do I add an API key?" } },
    },
    requests: (body) => messagesOf(body).filter(isRequest).length,
    logged: (body) => ({
      messages: messagesOf(body).map(({ method, params }) => ({ method, params })),
    }),
  },
  answer: described({ McpAnswer }, "The answer, or a tool's failure.", {
    jsonrpc: "2.0",
    id: 1,
    result: {
      content: [{ type: "text", text: '{"passages":[]}' }],
      structuredContent: { passages: [] },
    },
  }),
  errorFormat: mcpErrors,
  errors: {
    ...documentErrors,
    406: "The client does not accept JSON.",
    504: "The answer took longer than the node allows.",
  },
  handler: async ({ body }, context, { mcp, log }: { mcp: McpEndpoint; log: Log }) => {
    const { id, signal, report, requestHeaders: headers, authenticated: caller } = context;
    checkMessageSize(body);
    const { status, text } = await mcp.answer(
      { message: body, headers },
      {
        ...{ caller, signal, report },
        authorize: (scope) => void context.authenticate("retrieve", scope),
        onFault: (error) => {
          // A caller who leaves is no failure of the node.
          if (!signal.aborted) log.error("a request over MCP failed", { id, error });
        },
      },
    );
    context.loggedAnswer = () => ({ text });
    return { status, text };
  },
});

/** The largest filters have 16,384 values and a few hundred fields. */
const most = { values: 20_000, fields: 2_000 };

/** Rejects a message larger than any tool accepts: MCP's SDK would block the loop to check it. */
function checkMessageSize(message: unknown): void {
  const left = { ...most };
  const waiting = [message];
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (typeof next !== "object" || next === null) continue;
    const parts: readonly unknown[] = Array.isArray(next) ? next : Object.values(next);
    left.values -= parts.length;
    if (parts !== next) left.fields -= parts.length;
    if (left.values < 0 || left.fields < 0) {
      throw new NodeError(
        "invalid_request",
        `The message has more than the ${most.values} values or ${most.fields} fields that it may have.`,
      );
    }
    for (const part of parts) if (typeof part === "object") waiting.push(part);
  }
}

export interface McpSession {
  caller: DocumentCaller;
  /** Throws if the caller's key lacks the scope. */
  authorize(scope: Scope): void;
  signal: AbortSignal;
  report?: Report;
  /** Called with unexpected errors, whose details the caller does not see. */
  onFault(error: unknown): void;
}

export interface McpRequest {
  /** One JSON-RPC message, or a batch. */
  message: unknown;
  headers: Headers;
}

export interface McpEndpoint {
  answer(request: McpRequest, session: McpSession): Promise<{ status: number; text: string }>;
}
