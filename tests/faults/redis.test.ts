/** A Redis server that is killed, paused, slow and restarted while two nodes that share it are asked. */
import { describe, expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readiness } from "../../src/server/operations/node/schema.ts";
import { decode } from "../support/decode.ts";
import { runPaddock, type ServingPaddock, servePaddock } from "../support/paddock-process.ts";
import { hasRedis, startRedis } from "../support/redis-server.ts";
import { slowProxy } from "../support/slow-proxy.ts";
import { tempDir } from "../support/temp-dir.ts";
import { tinyModels } from "../support/tiny-models.ts";
import { waitFor } from "../support/wait-for.ts";

interface TwoNodes extends AsyncDisposable {
  nodes: readonly [ServingPaddock, ServingPaddock];
  key: string;
  ask(node: ServingPaddock): Promise<Response>;
  ready(node: ServingPaddock): Promise<{ status: number; reasons: string[] }>;
  number(node: ServingPaddock, series: string): Promise<number>;
  revoke(): Promise<void>;
}

async function twoNodes(redis: string, shared = ""): Promise<TwoNodes> {
  await using resources = new AsyncDisposableStack();
  const { embedding } = await tinyModels();
  const started = await Promise.all(
    [0, 1].map(async () => {
      const folder = resources.use(await tempDir());
      // What a node with fewer processes shares is the same.
      const text = `[engine]\nisolation = "none"\nthreads = 1\n[vectorstore]\nhandbook = false\n[[models]]\nname = "tiny-embedding"\ntype = "embedding"\nsource = ${JSON.stringify(embedding)}\n[shared]\nredis = "${redis}"\n${shared}\n`;
      await writeFile(join(folder.path, "paddock.toml"), text);
      return { cwd: folder.path, node: resources.use(await servePaddock({ cwd: folder.path })) };
    }),
  );
  const [first, second] = started;
  if (first === undefined || second === undefined) throw new Error("There are two nodes");
  const { cwd } = first;
  const limit = ["--requests-per-minute", "1000000"];
  const created = await runPaddock(["keys", "create", "ada", ...limit], { cwd });
  const key = created.stdout.trim();
  const headers = { "content-type": "application/json", authorization: `Bearer ${key}` };
  const body = JSON.stringify({ model: "tiny-embedding", input: "a" });
  const ask = ({ origin }: ServingPaddock) =>
    fetch(`${origin}/v1/embeddings`, { method: "POST", headers, body });
  for (const { node } of started) {
    await waitFor("the key to be known", async () => (await ask(node)).status === 200);
  }
  const owned = resources.move();
  return {
    nodes: [first.node, second.node],
    key,
    ask,
    async ready({ origin }) {
      const response = await fetch(`${origin}/ready`, { headers });
      const { status } = response;
      return { status, reasons: [...(await decode(Readiness, response)).reasons] };
    },
    async number({ origin }, series) {
      const text = await (await fetch(`${origin}/metrics`, { headers })).text();
      return Number(new RegExp(`^${series} (\\S+)$`, "m").exec(text)?.[1]);
    },
    async revoke() {
      const { code, stderr } = await runPaddock(["keys", "revoke", "ada"], { cwd });
      if (code !== 0) throw new Error(stderr);
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Asks both, twice at a time, until it is stopped; the statuses that came. */
function load({ nodes, ask }: TwoNodes) {
  const seen = new Set<number>();
  const answers = new Map(nodes.map((node) => [node, 0]));
  let isOver = false;
  const asking = Array.from({ length: 4 }, async (_, at) => {
    const node = nodes[at % 2 === 0 ? 0 : 1];
    while (!isOver) {
      seen.add((await ask(node)).status);
      answers.set(node, (answers.get(node) ?? 0) + 1);
      // The nodes and the server have the machine between.
      await Bun.sleep(25);
    }
  });
  return {
    /** Waits for answers of each that were asked for after now. */
    async further(): Promise<void> {
      for (const node of nodes) {
        const before = answers.get(node) ?? 0;
        await waitFor("further answers", () => (answers.get(node) ?? 0) > before + 25);
      }
    },
    async stop(): Promise<number[]> {
      isOver = true;
      await Promise.all(asking);
      return [...seen].sort();
    },
  };
}

const times = (text: string, words: string): number => text.split(words).length - 1;

describe.skipIf(!hasRedis)("a Redis server that two nodes under load share", () => {
  test("may be killed, paused, slow and restarted empty, and nobody is refused", async () => {
    await using redis = await startRedis();
    using proxy = await slowProxy(redis.port);
    // A machine that is busy with all of this is not a server that is away.
    await using two = await twoNodes(`redis://127.0.0.1:${proxy.port}`, "timeout = 1");
    const { nodes, ready, number } = two;
    const asking = load(two);
    const until = async (isThere: boolean): Promise<void> => {
      for (const node of nodes) {
        const isSaid = async (): Promise<boolean> => {
          const { status, reasons } = await ready(node);
          // A node that goes on without it is ready all the same.
          expect(status).toBe(200);
          if ((reasons.length === 0) !== isThere) return false;
          return (await number(node, "paddock_shared_up")) === (isThere ? 1 : 0);
        };
        await waitFor(`the server to be ${isThere ? "back" : "away"}`, isSaid, 20);
      }
      // Answers come in either case.
      await asking.further();
    };
    await until(true);
    await redis.kill();
    await until(false);
    expect((await ready(nodes[0])).reasons).toEqual([
      expect.stringMatching(/^Redis is away \(.+\): this node holds callers to their limits alone/),
    ]);
    await redis.start();
    await until(true);
    redis.pause();
    await until(false);
    redis.resume();
    await until(true);
    proxy.delayMs = 6000;
    await until(false);
    proxy.delayMs = 0;
    await until(true);
    expect(await asking.stop()).toEqual([200]);
    for (const node of nodes) {
      const losses = await number(node, "paddock_shared_losses_total");
      // The log has a line for a loss, not for a request; one that comes and goes is one loss there.
      expect(losses).toBeGreaterThanOrEqual(3);
      expect(times(node.stderr(), "Redis is away")).toBeWithin(1, losses + 1);
      expect(await number(node, "paddock_shared_decided_alone_total")).toBeGreaterThan(50);
    }
    // It came back empty once, and has the key again: a revocation reaches both.
    await two.revoke();
    for (const node of nodes) {
      await waitFor("the key to be refused", async () => (await two.ask(node)).status === 401);
    }
  });

  test("refuses requests while it is away, where that is wanted, and none afterwards", async () => {
    await using redis = await startRedis();
    await using two = await twoNodes(redis.url, 'when_away = "refuse"\ntimeout = 10');
    const { nodes, ready, ask } = two;
    const asking = load(two);
    await asking.further();
    await redis.kill();
    for (const node of nodes) {
      await waitFor("the node not to be ready", async () => (await ready(node)).status === 503);
      expect((await ready(node)).reasons).toEqual([
        expect.stringContaining("and requests are refused until it is back"),
      ]);
      const refused = await ask(node);
      expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "2"]);
      expect(await refused.json()).toMatchObject({
        error: { code: "unavailable", message: expect.stringContaining("Redis server is away") },
      });
    }
    await asking.further();
    await redis.start();
    for (const node of nodes) {
      await waitFor("the node to be ready", async () => (await ready(node)).status === 200, 20);
    }
    expect(await asking.stop()).toEqual([200, 503]);
    for (const node of nodes) expect((await ask(node)).status).toBe(200);
  });
});
