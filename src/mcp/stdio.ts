/** MCP over standard input and output, for whoever started the process: it needs no key. */
import { onAbort } from "../core/abort.ts";
import { theNode } from "../core/documents/document-caller.ts";
import { createMcpServer, type McpServerOptions } from "./server.ts";
import { type Pipes, StdioTransport } from "./stdio-transport.ts";

export interface StdioOptions extends Pick<McpServerOptions, "version" | "documents"> {
  pipes: Pipes;
  /** Ends it, whatever is being answered. */
  signal: AbortSignal;
  onFault: (error: unknown) => void;
}

/** Until the input ends, or the signal aborts. */
export async function serveStdio({ pipes, signal, onFault, ...rest }: StdioOptions): Promise<void> {
  const session = { caller: theNode, authorize: () => {}, signal, onFault };
  const server = createMcpServer({ ...rest, session });
  const transport = new StdioTransport(pipes);
  await server.connect(transport);
  try {
    await endOf(transport, signal);
  } finally {
    await server.close();
  }
}

/** Settles when the input has ended and all is answered, or the signal aborts. */
export async function endOf(transport: StdioTransport, signal: AbortSignal): Promise<void> {
  const { promise: stopped, resolve } = Promise.withResolvers<void>();
  using _ = onAbort(signal, resolve);
  if (signal.aborted) resolve();
  await Promise.race([transport.ended, stopped]);
}
