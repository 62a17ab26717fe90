/** MCP over standard input and output, passed on to another node: a message at a time, with no session. */
import type { JSONRPCMessage, RequestId } from "@modelcontextprotocol/sdk/types.js";
import { JSONRPCMessageSchema } from "@modelcontextprotocol/sdk/types.js";
import { NodeError, reasonOf } from "../core/errors.ts";
import { endOf, type Pipes, StdioTransport } from "./stdio.ts";

interface RelayOptions {
  pipes: Pipes;
  /** Asks the node; throws a sentence where it does not answer. Undefined: it took a notification. */
  ask: (
    message: object,
    options: { signal: AbortSignal; version: string | undefined },
  ) => Promise<unknown>;
  signal: AbortSignal;
  /** Hears what nobody else is told. */
  onProblem: (reason: string) => void;
}

/** As servers call an error that the protocol has no code for. */
const serverError = -32000;

export async function relayStdio({ pipes, ask, signal, onProblem }: RelayOptions): Promise<void> {
  const transport = new StdioTransport(pipes);
  const asked = new Map<RequestId, AbortController>();
  /** The version that the node and the client agreed on. */
  let version: string | undefined;

  const answer = async (message: JSONRPCMessage & { id: RequestId }): Promise<void> => {
    const controller = new AbortController();
    asked.set(message.id, controller);
    try {
      const options = { signal: AbortSignal.any([signal, controller.signal]), version };
      const found = JSONRPCMessageSchema.safeParse(await ask(message, options));
      if (!found.success) {
        throw new NodeError("unavailable", "What the node answers is not of MCP.");
      }
      version ??= versionIn(found.data);
      await transport.send(found.data);
    } catch (error) {
      if (controller.signal.aborted) return;
      const failure = { code: serverError, message: reasonOf(error) };
      await transport.send({ jsonrpc: "2.0", id: message.id, error: failure });
    } finally {
      asked.delete(message.id);
    }
  };

  transport.onmessage = (message) => {
    if ("method" in message && "id" in message) void answer(message);
    else if ("method" in message && message.method === "notifications/cancelled") {
      asked.get(Object(message.params).requestId)?.abort();
    } else ask(message, { signal, version }).catch((error) => onProblem(reasonOf(error)));
  };
  await transport.start();
  try {
    await endOf(transport, signal);
  } finally {
    await transport.close();
  }
}

/** The version in the answer to `initialize`. */
function versionIn(message: JSONRPCMessage): string | undefined {
  const version: unknown = "result" in message ? message.result.protocolVersion : undefined;
  return typeof version === "string" ? version : undefined;
}
