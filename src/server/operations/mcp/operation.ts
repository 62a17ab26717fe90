/** POST /mcp */
import { defineOperation } from "../../define-operation.ts";
import { documentBodyErrors } from "../../openapi.ts";
import { tags } from "../../operation.ts";
import { mcpErrors } from "./error-format.ts";
import { answerMcp } from "./handler.ts";
import { isRequest, McpAnswer, McpMessage, messagesOf } from "./schema.ts";

export const mcp = defineOperation({
  method: "POST",
  path: "/mcp",
  name: "mcp",
  operationId: "postMcpMessage",
  summary: "Documents for agents, over the Model Context Protocol",
  description:
    "MCP's streamable HTTP, without sessions: each message is answered for itself, as JSON. Tools search documents, read around a passage, and list collections and documents; documents are resources. What lists, and resources, want a key that opens `documents` besides. A notification is answered with 202.",
  tag: tags.retrieval,
  scope: "retrieve",
  body: {
    name: "McpMessage",
    schema: McpMessage,
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
  answer: {
    name: "McpAnswer",
    schema: McpAnswer,
    description: "The answer, a failure of a tool included.",
    example: {
      jsonrpc: "2.0",
      id: 1,
      result: {
        content: [{ type: "text", text: '{"passages":[]}' }],
        structuredContent: { passages: [] },
      },
    },
  },
  errorFormat: mcpErrors,
  errors: {
    ...documentBodyErrors,
    406: "The client takes no JSON.",
    504: "The answer took longer than the node allows.",
  },
  handler: answerMcp,
});
