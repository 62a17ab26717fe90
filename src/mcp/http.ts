/** One request of MCP's streamable HTTP, answered for itself: there is no session that strangers could fill. */
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import { untilAborted } from "../core/abort.ts";
import type { McpRequest } from "../server/operations/mcp/operation.ts";
import { createMcpServer, type McpServerOptions } from "./server.ts";

interface Answer {
  status: number;
  text: string;
}

/** Several messages are answered one after the other: together they take no more of the node than one. */
export async function answerOverHttp(
  { message, headers }: McpRequest,
  options: McpServerOptions,
): Promise<Answer> {
  if (!Array.isArray(message)) return await answerOne(message, headers, options);
  const texts: string[] = [];
  for (const each of message) {
    const answer = await answerOne(each, headers, options);
    if (answer.status >= 400) return answer;
    if (answer.text !== "") texts.push(answer.text);
  }
  return texts.length === 0 ? taken : { status: 200, text: `[${texts.join()}]` };
}

const taken = { status: 202, text: "" };

async function answerOne(
  message: unknown,
  headers: Headers,
  options: McpServerOptions,
): Promise<Answer> {
  const server = createMcpServer(options);
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await server.connect(transport);
  try {
    const answered = transport.handleRequest(asRequest(headers), { parsedBody: message });
    const response = await untilAborted(answered, options.session.signal);
    return { status: response.status, text: await response.text() };
  } finally {
    await server.close();
  }
}

/** The body was read already. */
function asRequest(headers: Headers): Request {
  const version = headers.get("mcp-protocol-version");
  return new Request("http://node/mcp", {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: accepted(headers.get("accept")),
      ...(version === null ? {} : { "mcp-protocol-version": version }),
    },
  });
}

/** Clients must take streams as well; one that takes JSON is answered, since nothing else is sent. */
const accepted = (accept: string | null): string =>
  accept === null || /application\/(json|\*)|\*\/\*/.test(accept)
    ? "application/json, text/event-stream"
    : accept;
