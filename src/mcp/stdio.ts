/** MCP over stdin and stdout, for the program that started the process; it needs no key. */
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import {
  type JSONRPCMessage,
  JSONRPCMessageSchema,
  type RequestId,
} from "@modelcontextprotocol/sdk/types.js";
import { onAbort } from "../core/abort.ts";
import { theNode } from "../core/documents/document-caller.ts";
import { NodeError, reasonOf } from "../core/errors.ts";
import { createMcpServer, type McpServerOptions } from "./server.ts";

interface StdioOptions extends Pick<McpServerOptions, "version" | "documents"> {
  pipes: Pipes;
  /** Stops serving, even while requests are in progress. */
  signal: AbortSignal;
  onFault: (error: unknown) => void;
}

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

async function endOf(transport: StdioTransport, signal: AbortSignal): Promise<void> {
  const { promise: stopped, resolve } = Promise.withResolvers<void>();
  using _ = onAbort(signal, resolve);
  if (signal.aborted) resolve();
  await Promise.race([transport.ended, stopped]);
}

interface Pipes {
  input: NodeJS.ReadableStream;
  output: NodeJS.WritableStream;
}

/** Most characters of a line: no message to this server is nearly as long. */
const longestLine = 4 * 1024 * 1024;

const notOne = { code: -32700, message: "The line is not a message of JSON-RPC 2.0." };

/** The SDK's own loses answers in progress at the end of the input, and does not answer a line that is not a message. */
class StdioTransport implements Transport {
  onmessage?: (message: JSONRPCMessage) => void;
  onclose?: () => void;
  readonly #pipes: Pipes;
  readonly #decoder = new TextDecoder();
  readonly #unanswered = new Set<RequestId>();
  readonly #ended = Promise.withResolvers<void>();
  #line = "";
  #isOver = false;

  constructor(pipes: Pipes) {
    this.#pipes = pipes;
  }

  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  async start(): Promise<void> {
    const { input } = this.#pipes;
    input.on("data", this.#take);
    input.once("end", this.#end);
    input.once("error", this.#fail);
  }

  async send(message: JSONRPCMessage): Promise<void> {
    await this.#write(message);
    if ("id" in message && message.id !== undefined && !("method" in message)) {
      this.#answered(message.id);
    }
  }

  async close(): Promise<void> {
    const { input } = this.#pipes;
    input.off("data", this.#take);
    input.off("end", this.#end);
    input.off("error", this.#fail);
    // An input that is still being read keeps the process alive.
    input.pause();
    this.onclose?.();
  }

  readonly #take = (chunk: Buffer | string): void => {
    this.#line += typeof chunk === "string" ? chunk : this.#decoder.decode(chunk, { stream: true });
    if (this.#line.length > longestLine && !this.#line.includes("\n")) {
      const why = `A message is longer than the ${longestLine} characters that this command takes.`;
      this.#fail(new NodeError("payload_too_large", why));
      return;
    }
    const lines = this.#line.split("\n");
    this.#line = lines.pop() ?? "";
    for (const line of lines) this.#hear(line.trim());
  };

  readonly #end = (): void => {
    this.#hear(this.#line.trim());
    this.#isOver = true;
    this.#endIfDone();
  };

  readonly #fail = (error: unknown): void => this.#ended.reject(error);

  #hear(line: string): void {
    if (line === "") return;
    const message = parse(line);
    if (message === undefined) {
      void this.#write({ jsonrpc: "2.0", id: null, error: notOne });
      return;
    }
    if ("method" in message && "id" in message) this.#unanswered.add(message.id);
    this.onmessage?.(message);
    // A cancelled request gets no answer.
    if ("method" in message && message.method === "notifications/cancelled") {
      this.#answered(Object(message.params).requestId);
    }
  }

  #answered(id: RequestId): void {
    this.#unanswered.delete(id);
    this.#endIfDone();
  }

  #endIfDone(): void {
    if (this.#isOver && this.#unanswered.size === 0) this.#ended.resolve();
  }

  async #write(message: object): Promise<void> {
    const { output } = this.#pipes;
    await new Promise<void>((resolve) => {
      output.write(`${JSON.stringify(message)}\n`, () => resolve());
    });
  }
}

function parse(line: string): JSONRPCMessage | undefined {
  try {
    return JSONRPCMessageSchema.parse(JSON.parse(line));
  } catch {
    return undefined;
  }
}

interface RelayOptions {
  pipes: Pipes;
  /** Sends a message to the node. Throws if it does not answer; undefined for a notification. */
  ask: (
    message: object,
    options: { signal: AbortSignal; version: string | undefined },
  ) => Promise<unknown>;
  signal: AbortSignal;
  onProblem: (reason: string) => void;
}

/** The code of an error that the protocol does not define. */
const serverError = -32000;

/** Forwards messages to another node, each by itself and without a session. */
export async function relayStdio({ pipes, ask, signal, onProblem }: RelayOptions): Promise<void> {
  const transport = new StdioTransport(pipes);
  const asked = new Map<RequestId, AbortController>();
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

function versionIn(message: JSONRPCMessage): string | undefined {
  const version: unknown = "result" in message ? message.result.protocolVersion : undefined;
  return typeof version === "string" ? version : undefined;
}
