/** Three replicas and the two nodes in front of them are restarted one after another, while clients ask through the proxy. */
import { describe, expect, test } from "bun:test";
import { installed } from "../support/installed-program.ts";
import { parsePrometheus } from "../support/prometheus-text.ts";
import { proxyBeforeNodes } from "../support/proxies.ts";
import { hasRedis, startRedis } from "../support/redis-server.ts";
import {
  frontConfig,
  model,
  restartableNode,
  type UpstreamNode,
  upstreamNode,
} from "../support/replicated-node.ts";
import { waitFor } from "../support/wait-for.ts";

const nginx = installed("nginx");
const authorization = "Bearer a-good-key";

/** How many chats a node has answered since it was started. */
async function chatsOf({ port }: UpstreamNode): Promise<number> {
  const page = await fetch(`http://127.0.0.1:${port}/metrics`, { headers: { authorization } });
  const { samples = [] } = parsePrometheus(await page.text()).get("paddock_requests_total") ?? {};
  return samples
    .filter(({ labels }) => labels.operation === "chat")
    .reduce((sum, { value }) => sum + value, 0);
}

async function restart(node: UpstreamNode): Promise<void> {
  node.kill("SIGTERM");
  expect(await node.ended()).toBe(0);
  await node.start();
  // The proxy, or a node, leaves one that was away alone for a while.
  await waitFor("its share", async () => (await chatsOf(node)) > 2);
}

describe.skipIf(nginx === undefined || !hasRedis)("a rolling restart under load", () => {
  test("of three replicas and two nodes costs nobody an answer", async () => {
    await using resources = new AsyncDisposableStack();
    const redis = resources.use(await startRedis());
    const replicas = await Promise.all([upstreamNode(), upstreamNode(), upstreamNode()]);
    for (const replica of replicas) resources.use(replica);
    // A limit that nobody meets has every request counted in Redis.
    const config = `[auth]\napi_keys = ["a-good-key"]\n[limits]\nrequests_per_minute = 1000000\n[shared]\nredis = "${redis.url}"\ntimeout = 10\n${frontConfig(replicas.map(({ url }) => url))}`;
    const nodes = [await restartableNode(config), await restartableNode(config)] as const;
    for (const node of nodes) resources.use(node);
    const [one, other] = nodes;
    const proxy = resources.use(
      await proxyBeforeNodes(nginx ?? "", [`127.0.0.1:${one.port}`, `127.0.0.1:${other.port}`]),
    );
    let isOver = false;
    const outcomes = new Map<string, number>();
    const clients = Array.from({ length: 4 }, async (_, client) => {
      for (let turn = 0; !isOver; turn++) {
        const stream = (client + turn) % 2 === 0;
        const answer = await proxy.ask("/v1/chat/completions", {
          method: "POST",
          headers: { "content-type": "application/json", authorization },
          body: JSON.stringify({
            model,
            messages: [{ role: "user", content: `client ${client}, turn ${turn}` }],
            max_tokens: 20 + 20 * client,
            stream,
            // Without the end token an answer is as long as it may be.
            logit_bias: { "2": -100 },
          }),
        });
        const text = await answer.text();
        const isWhole = stream ? text.endsWith("data: [DONE]\n\n") : text.includes('"usage"');
        const outcome = `${answer.status} ${isWhole ? "whole" : text}`;
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
        // A core that starts a node is not to wait for all of them all the time.
        await Bun.sleep(10);
      }
    });
    try {
      for (const server of [...replicas, ...nodes]) await restart(server);
      await waitFor("many outcomes", () => [...outcomes.values()].some((count) => count > 50));
    } finally {
      isOver = true;
      await Promise.all(clients);
    }
    expect([...outcomes.keys()]).toEqual(["200 whole"]);
  });
});
