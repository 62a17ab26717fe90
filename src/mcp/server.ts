/** The node as a server of the Model Context Protocol, for one caller. */
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
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
import type { McpSession } from "../server/operations/mcp/operation.ts";
import type { McpDocuments } from "./documents.ts";
import { listResources, readResource, resourceTemplate } from "./resources.ts";
import {
  listCollections,
  listDocuments,
  readDocument,
  searchDocuments,
  type Tool,
  type Work,
} from "./tools.ts";

export interface McpServerOptions {
  version: string;
  session: McpSession;
  /** What documents are read with, once that is there. */
  documents: (signal: AbortSignal) => Promise<McpDocuments>;
}

const tools: readonly Tool[] = [searchDocuments, readDocument, listCollections, listDocuments];

/** What a key must open besides, for resources: their list names every document. */
const resourceScope: Scope = "documents";

/** One for all: each takes more time to make than most answers. */
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
  // Given to the constructor they would promise to tell of changes, for which there is no session.
  handlers.registerCapabilities({ tools: {}, ...(opens(resourceScope) ? { resources: {} } : {}) });

  /** Does it for the caller, until the caller, or the request, has enough. */
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
      // The model that called it can mend what it asked.
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

/** An error of JSON-RPC; the SDK's own puts a prefix before the sentence. */
class RpcError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

const rpcCodes = { invalidParams: -32602, internal: -32603, noSuchResource: -32002 };

/** By what the specification of MCP, or of JSON-RPC, calls it; all else is an internal error. */
const codes: Partial<Record<ErrorKind, number>> = {
  invalid_request: rpcCodes.invalidParams,
  context_length_exceeded: rpcCodes.invalidParams,
  no_such_object: rpcCodes.noSuchResource,
};

/** A sentence for the caller; of what was not foreseen it tells nothing, and `onFault` hears it. */
function toRpcError(error: unknown, onFault: (error: unknown) => void): RpcError {
  if (error instanceof RpcError) return error;
  const known = toNodeError(error);
  if (known.kind === "internal") onFault(error);
  return new RpcError(codes[known.kind] ?? rpcCodes.internal, errorBody(known).error.message);
}
