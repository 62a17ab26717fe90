/** A node inside this process, for its own chat alone: on a random port of loopback, with a key of one use. */

import { OpenAiClient } from "../../client/openai-client.ts";
import type { Config } from "../../config/schema.ts";
import { createApp } from "../../server/app.ts";
import { createCommandLog } from "../log.ts";
import { nodeFor } from "../node-for.ts";
import type { Shell } from "../shell.ts";

export interface OwnNode extends AsyncDisposable {
  client: OpenAiClient;
}

export async function startOwnNode(shell: Shell, configured: Config): Promise<OwnNode> {
  await using resources = new AsyncDisposableStack();
  const key = crypto.randomUUID();
  const config: Config = {
    ...configured,
    host: "127.0.0.1",
    port: 0,
    auth: { ...configured.auth, api_keys: [key] },
  };
  const node = resources.use(nodeFor(shell, config, createCommandLog(config, shell.isTerminal)));
  await node.prepare(shell.stopped);
  const app = createApp(node.services);
  const server = Bun.serve({ hostname: config.host, port: 0, idleTimeout: 0, fetch: app.fetch });
  resources.defer(() => server.stop(true));
  node.listensOn(server.port ?? 0);
  const client = new OpenAiClient({ url: server.url.origin, key });
  const owned = resources.move();
  return { client, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
