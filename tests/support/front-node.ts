/** A node whose models run on another node: real processes of neither, a real connection between both. */
import { listeningNode, type TinyNode, type TinyNodeOptions, tinyNode } from "./tiny-node.ts";

interface FrontNode extends TinyNode {
  /** The node that the models run on. */
  upstream: TinyNode;
}

/** The key that the other node wants. */
const upstreamKey = "the-key-of-the-upstream";

/** `options` are the front's, but for the settings of the chat model. */
async function frontNode(options: TinyNodeOptions = {}): Promise<FrontNode> {
  const { env = {}, chatSettings } = options;
  const resources = new AsyncDisposableStack();
  const upstream = resources.use(
    await tinyNode({
      env: { PADDOCK_API_KEYS: upstreamKey },
      ...(chatSettings === undefined ? {} : { chatSettings }),
    }),
  );
  const front = resources.use(
    await listeningNode(frontConfig(upstream.baseUrl), { UPSTREAM_KEY: upstreamKey, ...env }),
  );
  return {
    ...front,
    upstream,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** A configuration file whose models run at an address, under the names that they have there. */
export const frontConfig = (url: string, { key = "UPSTREAM_KEY", settings = "" } = {}): string => `
[vectorstore]
handbook = false
[[models]]
name = "tiny-chat"
type = "chat"
source = "openai:${url}"
${key === "" ? "" : `api_key_env = "${key}"`}
${settings}
[[models]]
name = "tiny-embedding"
type = "embedding"
source = "openai:${url}"
${key === "" ? "" : `api_key_env = "${key}"`}
`;

/** The nodes that a client must not be able to tell apart. */
export const nodesForClients = [
  ["a listening node", tinyNode],
  ["a node in front of another", frontNode],
] as const;
