/** The node's MCP server (Model Context Protocol), for one caller. */
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import {
  CallToolRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  ReadResourceRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/sdk/validation/ajv";
import type { ErrorKind } from "../core/errors.ts";
import type { Scope } from "../core/limits/api-key.ts";
import { quoted } from "../core/quoted.ts";
import { errorBody, toNodeError } from "../server/middleware/errors.ts";
import type { McpRequest, McpSession } from "../server/operations/mcp.ts";
import { listResources, type McpDocuments, readResource, resourceTemplate } from "./resources.ts";
import {
  listCollections,
  listDocuments,
  readDocument,
  searchDocuments,
  type Work,
} from "./tools.ts";

export interface McpServerOptions {
  version: string;
  session: McpSession;
  documents: (signal: AbortSignal) => Promise<McpDocuments>;
}

const tools = [searchDocuments, readDocument, listCollections, listDocuments];

const resourceScope: Scope = "documents";

/** Shared: creating one takes longer than most answers. */
const jsonSchemaValidator = new AjvJsonSchemaValidator();

const instructions =
  "Documents of a Paddock node. Ask search_documents first, and cite the document and heading of what you use; read_document shows what stands around a passage.";

export function createMcpServer({ version, session, documents }: McpServerOptions): McpServer {
  const { caller, report, onFault, authorize } = session;
  const opens = (scope: Scope): boolean => {
    try {
      authorize(scope);
      return true;
    } catch {
      return false;
    }
  };
  const server = new McpServer({ name: "paddock", version }, { instructions, jsonSchemaValidator });
  const handlers = server.server;
  // If passed to the constructor, they would promise change notifications, which need a session.
  handlers.registerCapabilities({ tools: {}, ...(opens(resourceScope) ? { resources: {} } : {}) });

  /** Runs `body` for the caller, until the session or the request is aborted. */
  const doing = async <Result>(
    scope: Scope,
    asked: AbortSignal,
    body: (work: Work) => Promise<Result>,
  ): Promise<Result> => {
    try {
      authorize(scope);
      const signal = AbortSignal.any([session.signal, asked]);
      const work = { caller, signal, documents: await documents(signal) };
      return await body(report === undefined ? work : { ...work, report });
    } catch (error) {
      throw toRpcError(error, onFault);
    }
  };

  handlers.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: tools.filter(({ scope }) => opens(scope)).map(({ shown }) => shown),
  }));
  handlers.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal }) => {
    const tool = tools.find(({ shown }) => shown.name === params.name);
    if (tool === undefined) throw unknownTool(params.name);
    try {
      const wanted = params.arguments ?? {};
      const result = await doing(tool.scope, signal, (work) => tool.call(wanted, work));
      const text = JSON.stringify(result);
      return { content: [{ type: "text", text }], structuredContent: result };
    } catch (error) {
      // A tool result, not an RPC error: the model that called the tool can correct its arguments.
      const { message } = toRpcError(error, onFault);
      return { content: [{ type: "text", text: message }], isError: true };
    }
  });
  if (!opens(resourceScope)) return server;
  handlers.setRequestHandler(ListResourcesRequestSchema, ({ params }, { signal }) =>
    doing(resourceScope, signal, (work) => listResources(params?.cursor, work)),
  );
  handlers.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({
    resourceTemplates: [resourceTemplate],
  }));
  handlers.setRequestHandler(ReadResourceRequestSchema, ({ params }, { signal }) =>
    doing(resourceScope, signal, (work) => readResource(params.uri, work)),
  );
  return server;
}

function unknownTool(name: string): RpcError {
  const known = tools.map(({ shown }) => shown.name).join(", ");
  return new RpcError(
    rpcCodes.invalidParams,
    `There is no tool ${quoted(name)}; there are ${known}.`,
  );
}

/** A JSON-RPC error; the SDK's own adds a prefix to the message. */
class RpcError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

const rpcCodes = { invalidParams: -32602, internal: -32603, noSuchResource: -32002 };

/** Codes of MCP and JSON-RPC for kinds of error; all others are internal errors. */
const codes: Partial<Record<ErrorKind, number>> = {
  invalid_request: rpcCodes.invalidParams,
  context_length_exceeded: rpcCodes.invalidParams,
  no_such_object: rpcCodes.noSuchResource,
};

/** An error that is safe to show to the caller; an unexpected one goes to `onFault`. */
function toRpcError(error: unknown, onFault: (error: unknown) => void): RpcError {
  if (error instanceof RpcError) return error;
  const known = toNodeError(error);
  if (known.kind === "internal") onFault(error);
  return new RpcError(codes[known.kind] ?? rpcCodes.internal, errorBody(known).error.message);
}

interface Answer {
  status: number;
  text: string;
}

/** Streamable HTTP, each request by itself: no sessions for strangers to fill. A batch uses no more of the node than one message. */
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
    const response = await transport.handleRequest(asRequest(headers), { parsedBody: message });
    // A tool ends with the signal, and what it had begun is charged then.
    options.session.signal.throwIfAborted();
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
