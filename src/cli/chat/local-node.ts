/** Runs a private node in this process for `paddock chat`, on a random port with a random key. */
import type { Config } from "../../config/schema.ts";
import { PaddockNode } from "../../node/paddock-node.ts";
import { createApp } from "../../server/app.ts";
import { listen } from "../../server/listen.ts";
import { keyAccess } from "../../server/middleware/authentication.ts";
import { nodeOptions } from "../command-options.ts";
import { createCommandLog } from "../log.ts";
import type { Shell } from "../shell.ts";
import { ChatServer } from "./chat-server.ts";

export interface LocalNode extends AsyncDisposable {
  server: ChatServer;
}

export async function startLocalNode(shell: Shell, configured: Config): Promise<LocalNode> {
  await using resources = new AsyncDisposableStack();
  const key = crypto.randomUUID();
  // The shared limits of other nodes do not apply to this chat.
  const { redis: _, ...shared } = configured.shared;
  const config: Config = {
    ...configured,
    host: "127.0.0.1",
    port: 0,
    shared,
  };
  const log = createCommandLog(config, shell.isTerminal);
  const { version, handbook, residentMemory } = shell;
  const options = nodeOptions(shell, config, log);
  const node = resources.use(
    await PaddockNode.create({ ...options, version, handbook, residentMemory }),
  );
  await node.prepare(shell.stopped);
  const { connections, services } = node;
  const { host: hostname, http } = config;
  const listener = listen({
    ...{ hostname, port: 0, connections, log },
    app: createApp({ ...services, access: keyAccess([key]) }),
    keepAlive: http.keep_alive,
  });
  resources.defer(() => listener.stop(true));
  node.listensOn(listener.port ?? 0);
  const server = new ChatServer({ url: listener.url.origin, key });
  const owned = resources.move();
  return { server, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
