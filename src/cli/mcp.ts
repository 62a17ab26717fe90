/** `paddock mcp`: serves documents to an editor or agent, over MCP on standard input and output. */
import { existsSync } from "node:fs";
import { Command } from "commander";
import { ApiClient } from "../client/api-client.ts";
import { ApiError } from "../client/api-error.ts";
import { reasonOf } from "../core/errors.ts";
import { given } from "../core/given.ts";
import { DocumentReader } from "../node/documents/node-documents.ts";
import { dataDirOf } from "../node/node-settings.ts";
import { addConfigOptions, addExamples, nodeOptions, readConfig } from "./command-options.ts";
import { baseUrlOf, toNodeError } from "./remote-server.ts";
import { CommandError, type Shell } from "./shell.ts";

export function mcpCommand(shell: Shell): Command {
  const command = addConfigOptions(
    new Command("mcp")
      .description(
        "serve documents to an editor or an agent, over MCP on standard input and output",
      )
      .option(
        "--url <address>",
        "a running node; its key is PADDOCK_KEY's. Default: the collections of the data dir, in this process",
      ),
  );
  addExamples(
    command,
    "paddock mcp --data-dir /srv/paddock/data",
    "paddock mcp --url http://127.0.0.1:8080",
  );
  return command.action(async () => {
    const { url }: { url?: string } = command.opts();
    if (shell.input.isTerminal) shell.say(forPeople);
    await (url === undefined ? serveHere(shell, command) : passOn(shell, url));
  });
}

const forPeople =
  "This speaks MCP with the program that started it; docs/mcp.md says what to write into an editor's settings. Ctrl-D ends it.\n";

async function serveHere(shell: Shell, command: Command): Promise<void> {
  const config = await readConfig(shell, command);
  const dataDir = dataDirOf(config, shell.cwd);
  // Editors start it in any folder, which must not be filled with models.
  if (!existsSync(dataDir)) {
    throw new CommandError(
      `There is no data dir at ${dataDir}. Name the node's with --data-dir or PADDOCK_DATA_DIR, as an absolute path; 'paddock ingest PATH' makes one.`,
    );
  }
  const signal = shell.stopped;
  const options = nodeOptions(shell, config);
  const { log } = options;
  await using reader = new DocumentReader({ ...options, signal });
  // Not awaited: an editor's first requests are answered before the model is loaded.
  reader.documents(signal).catch((error: unknown) => {
    if (!signal.aborted) log.warn("documents cannot be searched yet", { reason: reasonOf(error) });
  });
  const { serveStdio } = await import("../mcp/stdio.ts");
  await serveStdio({
    pipes: shell.input.terminal(),
    version: shell.version,
    documents: (until) => reader.documents(until),
    signal,
    onFault: (error) => log.error("a request over MCP failed", { error }),
  });
}

async function passOn(shell: Shell, url: string): Promise<void> {
  const { relayStdio } = await import("../mcp/stdio.ts");
  await relayStdio({
    pipes: shell.input.terminal(),
    ask: remoteNode(url, shell.env.PADDOCK_KEY || undefined),
    signal: shell.stopped,
    onProblem: (reason) => shell.say(`${reason}\n`),
  });
}

/** Accepts `http://host:8080`, with or without `/v1` or `/mcp`. */
export const mcpUrlOf = (url: string): string => `${baseUrlOf(url).replace(/\/(v1|mcp)$/, "")}/mcp`;

/** Sends one message to a running node over HTTP; undefined if it has no answer. */
function remoteNode(url: string, key: string | undefined) {
  const baseUrl = mcpUrlOf(url);
  // A key is sent to the named server only.
  const client = new ApiClient({ baseUrl, key: () => key, redirect: "manual" });
  return async (
    body: object,
    { signal, version }: { signal: AbortSignal; version: string | undefined },
  ): Promise<unknown> => {
    const accept = "application/json, text/event-stream";
    const headers = { accept, ...given({ "mcp-protocol-version": version }) };
    try {
      const response = await client.request("", { body, headers, signal });
      return response.status === 202 ? undefined : await response.json();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      throw toNodeError(error, { baseUrl, hasKey: key !== undefined });
    }
  };
}
