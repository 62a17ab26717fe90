/** MCP's streamable HTTP, each request by itself: there are no sessions for strangers to fill. */
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import { untilAborted } from "../core/abort.ts";
import type { McpRequest } from "../server/operations/mcp.ts";
import { createMcpServer, type McpServerOptions } from "./server.ts";

interface Answer {
  status: number;
  text: string;
}

/** Answers a batch of messages one by one, so that it uses no more of the node than one message. */
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

/** The request for the transport, without the body, which is already parsed. */
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

/** MCP requires clients to accept streams too. JSON is enough here: nothing else is sent. */
const accepted = (accept: string | null): string =>
  accept === null || /application\/(json|\*)|\*\/\*/.test(accept)
    ? "application/json, text/event-stream"
    : accept;
