/** MCP over HTTP; its libraries are loaded when somebody asks. */
import type { McpDocuments } from "../mcp/documents.ts";
import type { McpEndpoint } from "../server/operations/mcp/endpoint.ts";

export const mcpEndpoint = (version: string, documents: McpDocuments): McpEndpoint => ({
  async answer(request, session) {
    const { answerOverHttp } = await import("../mcp/http.ts");
    return await answerOverHttp(request, { version, session, documents: async () => documents });
  },
});
