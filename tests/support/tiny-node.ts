/** A whole node on the tiny models: real engines, a real store, no process. */

import type { PaddockNode } from "../../src/node/paddock-node.ts";
import { createApp } from "../../src/server/app.ts";
import { engineEnvironment } from "../../src/subprocess/program.ts";
import { bareNode } from "./bare-node.ts";
import { programUnderTest } from "./paddock-process.ts";
import { tempDir } from "./temp-dir.ts";
import { tinyModels } from "./tiny-models.ts";

export interface TinyNode extends AsyncDisposable {
  app: ReturnType<typeof createApp>;
  node: PaddockNode;
  /** Address of the API on a listening port. */
  baseUrl: string;
}

export interface TinyNodeOptions {
  env?: Record<string, string>;
  chatSettings?: string;
}

export const tinyNode = async (options: TinyNodeOptions = {}): Promise<TinyNode> =>
  await listeningNode(await tinyConfig(options.chatSettings), options.env);

/** A whole node of another configuration, on a port and a data dir of its own. */
export async function listeningNode(
  toml: string,
  env: Record<string, string> = {},
): Promise<TinyNode> {
  const resources = new AsyncDisposableStack();
  const folder = resources.use(await tempDir());
  const node = resources.use(
    await bareNode({
      toml,
      env: { PADDOCK_DATA_DIR: folder.path, ...env },
      baseDir: folder.path,
      program: { command: programUnderTest, env: engineEnvironment(process.env) },
    }),
  );
  await node.prepare(new AbortController().signal);
  const app = createApp(node.services);
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", idleTimeout: 0, fetch: app.fetch });
  resources.defer(() => server.stop(true));
  node.listensOn(server.port ?? 0);
  return {
    app,
    node,
    baseUrl: `${server.url.origin}/v1`,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

const settings = `
[vectorstore]
handbook = false
[engine]
# Two threads wait for each other at every step, for a thousand times longer than one of these takes
# where the machine is busy.
threads = 1
`;

/** A configuration file that names the tiny models. */
export const tinyConfig = async (chatSettings?: string): Promise<string> =>
  (await tinyChatConfig(chatSettings)) + (await embeddingSection());

/** The same without the embedding model, for a node that needs none: it starts a process less. */
export async function tinyChatConfig(chatSettings = "ctx_size = 2048"): Promise<string> {
  const { chat } = await tinyModels();
  return `${settings}
[[models]]
name = "tiny-chat"
type = "chat"
source = ${JSON.stringify(chat)}
${chatSettings}
`;
}

/** The same with the embedding model alone. */
export const tinyEmbeddingConfig = async (): Promise<string> =>
  settings + (await embeddingSection());

async function embeddingSection(): Promise<string> {
  const { embedding } = await tinyModels();
  return `
[[models]]
name = "tiny-embedding"
type = "embedding"
source = ${JSON.stringify(embedding)}
`;
}

/** A section more, for a reranking model. */
export async function tinyRerankerSection(settings = ""): Promise<string> {
  const { reranker } = await tinyModels();
  return `
[[models]]
name = "tiny-reranker"
type = "reranker"
source = ${JSON.stringify(reranker)}
${settings}
`;
}
