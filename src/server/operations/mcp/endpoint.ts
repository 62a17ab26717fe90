/** What speaks MCP, as the HTTP side knows it. */
import type { DocumentCaller } from "../../../core/documents/document-caller.ts";
import type { Scope } from "../../../core/limits/api-key.ts";
import type { Report } from "../../../core/ports/telemetry.ts";

/** The caller over MCP, and what comes with it. */
export interface McpSession {
  caller: DocumentCaller;
  /** Throws where the caller's key does not open it. */
  authorize(scope: Scope): void;
  signal: AbortSignal;
  /** Hears what is done. */
  report?: Report;
  /** Hears of what was not foreseen; the caller is told nothing of it. */
  onFault(error: unknown): void;
}

export interface McpRequest {
  /** One message of JSON-RPC, or several. */
  message: unknown;
  headers: Headers;
}

export interface McpEndpoint {
  answer(request: McpRequest, session: McpSession): Promise<{ status: number; text: string }>;
}
