/** The SDK's own client of MCP, over HTTP and over a process. */
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { environmentIn, programUnderTest } from "./paddock-process.ts";

export interface McpClient extends AsyncDisposable {
  client: Client;
  /** What a tool answers; its failure is thrown, as the sentence that it is. */
  call(name: string, wanted?: Record<string, unknown>): Promise<Record<string, unknown>>;
  /** The sentence that a tool fails with. */
  refusal(name: string, wanted?: Record<string, unknown>): Promise<string>;
}

export const mcpOverHttp = (origin: string, key?: string): Promise<McpClient> =>
  connected(
    new StreamableHTTPClientTransport(new URL("/mcp", origin), {
      requestInit: { headers: key === undefined ? {} : { authorization: `Bearer ${key}` } },
    }),
  );

/** `paddock mcp`, started as an editor starts it. */
export function mcpOverStdio(
  args: readonly string[],
  { cwd, env = {} }: { cwd: string; env?: Record<string, string> },
): Promise<McpClient> {
  const [command = "", ...before] = programUnderTest;
  return connected(
    new StdioClientTransport({
      command,
      args: [...before, "mcp", ...args],
      cwd,
      env: { ...environmentIn(cwd), ...env },
      stderr: "ignore",
    }),
  );
}

/** The SDK gives up after a minute, which a process may need to start where machines are busy. */
const patience = { timeout: 1_000_000 };

async function connected(transport: Transport): Promise<McpClient> {
  const client = new Client({ name: "tests", version: "1.0.0" });
  await client.connect(transport, patience);
  // It checks what comes against the tools' schemas only where it has them.
  await client.listTools(undefined, patience);
  const ask = async (name: string, wanted: Record<string, unknown> = {}) =>
    // The other form is of a protocol before 2024-11-05.
    (await client.callTool({ name, arguments: wanted }, undefined, patience)) as CallToolResult;
  const textOf = ({ content }: CallToolResult): string =>
    content.map((part) => (part.type === "text" ? part.text : part.type)).join();
  return {
    client,
    async call(name, wanted) {
      const result = await ask(name, wanted);
      if (result.isError === true) throw new Error(textOf(result));
      const { structuredContent = {} } = result;
      if (textOf(result) !== JSON.stringify(structuredContent)) {
        throw new Error(`The text is not what is structured: ${textOf(result)}`);
      }
      return structuredContent;
    },
    async refusal(name, wanted) {
      const result = await ask(name, wanted);
      if (result.isError === true) return textOf(result);
      throw new Error(`${name} did not fail: ${textOf(result)}`);
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}
