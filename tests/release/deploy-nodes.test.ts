/** What deploy/compose starts around the nodes, run by the programs that it is for. */
import { describe, expect, test } from "bun:test";
import { Type as T } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { RedisClient } from "bun";
import { freePort } from "../support/free-port.ts";
import { installed, runProgram } from "../support/installed-program.ts";
import { type ListeningApp, listeningApp } from "../support/listening-app.ts";
import { proxyBeforeNodes, shipped } from "../support/proxies.ts";
import { hasRedis } from "../support/redis-server.ts";
import { finish } from "../support/scripted-engines.ts";
import { frames } from "../support/sse.ts";
import { tempDir } from "../support/temp-dir.ts";

const key = "a-long-secret";

const asks = (body: object = {}) => ({
  method: "POST",
  headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
  body: JSON.stringify({ model: "chatty", messages: [{ role: "user", content: "q" }], ...body }),
});

describe("the proxy before two nodes", () => {
  const program = installed("nginx");

  const host = ({ origin }: ListeningApp): string => new URL(origin).host;
  const proxyFor = (one: ListeningApp, other: ListeningApp) =>
    proxyBeforeNodes(program ?? "", [host(one), host(other)]);

  test.skipIf(program === undefined)("asks both, and passes each token on", async () => {
    await using one = listeningApp({ keys: [key] });
    await using other = listeningApp({ keys: [key] });
    await using proxy = await proxyFor(one, other);
    const seen = Promise.withResolvers<void>();
    // Either may be asked: the second token comes only once the first was read at the other end.
    const scripted = [one, other];
    for (const { chat } of scripted) {
      for (let times = 0; times < 2; times++) {
        chat.script({ type: "text", text: "one" }, () => seen.promise, finish);
      }
    }
    const streams = await Promise.all(
      [0, 1].map(() => proxy.ask("/v1/chat/completions", asks({ stream: true }))),
    );
    for (const stream of streams) {
      for await (const frame of frames(stream)) if (frame.includes("one")) seen.resolve();
    }
    // Each had one in progress when the next came.
    expect(scripted.map(({ chat }) => chat.requests.length)).toEqual([1, 1]);
  });

  test.skipIf(program === undefined)(
    "gives what a stopping node refuses to the other",
    async () => {
      await using stopping = listeningApp({ keys: [key], draining: true });
      await using other = listeningApp({ keys: [key] });
      await using proxy = await proxyFor(stopping, other);
      for (let times = 0; times < 6; times++) {
        other.chat.script({ type: "text", text: "Hello" }, finish);
        const answer = await proxy.ask("/v1/chat/completions", asks());
        expect([answer.status, await answer.text()]).toEqual([
          200,
          expect.stringContaining("Hello"),
        ]);
      }
    },
  );

  test.skipIf(program === undefined)("lets the nodes know their own page", async () => {
    await using one = listeningApp({ keys: [key] });
    await using other = listeningApp({ keys: [key] });
    await using proxy = await proxyFor(one, other);
    const { origin } = new URL((await proxy.ask("/health")).url);
    const { headers, ...rest } = asks();
    const from = async (page: string) => {
      for (const { chat } of [one, other]) chat.script(finish);
      const init = { ...rest, headers: { ...headers, origin: page } };
      return (await proxy.ask("/v1/chat/completions", init)).status;
    };
    expect(await from(origin)).toBe(200);
    expect(await from("http://127.0.0.1:1")).toBe(403);
  });

  test.skipIf(program === undefined)("goes on asking a node whose queue was full", async () => {
    const nodes = [listeningApp({ keys: [key] }), listeningApp({ keys: [key] })] as const;
    await using one = nodes[0];
    await using other = nodes[1];
    await using proxy = await proxyFor(one, other);
    let refused = 0;
    one.instead = () =>
      refused++ === 0
        ? Response.json({ error: { code: "queue_full" } }, { status: 503 })
        : undefined;
    for (const { chat } of nodes) for (let times = 0; times < 9; times++) chat.script(finish);
    while (refused === 0) {
      expect((await proxy.ask("/v1/chat/completions", asks())).status).toBe(200);
    }
    await other.stop();
    expect((await proxy.ask("/v1/chat/completions", asks())).status).toBe(200);
  });

  test.skipIf(program === undefined)("says that both queues are full as the nodes do", async () => {
    await using one = listeningApp({ keys: [key] });
    await using other = listeningApp({ keys: [key] });
    await using proxy = await proxyFor(one, other);
    const full = () =>
      Response.json(
        { error: { code: "queue_full" } },
        { status: 503, headers: { "retry-after": "5" } },
      );
    one.instead = full;
    other.instead = full;
    for (let times = 0; times < 6; times++) {
      const answer = await proxy.ask("/v1/chat/completions", asks());
      expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "5"]);
      expect(await answer.text()).toContain("queue_full");
    }
  });
});

describe("the Redis server of the compose file and of Kubernetes", () => {
  const Compose = T.Object({
    services: T.Object({ redis: T.Object({ command: T.Array(T.String()) }) }),
  });
  const StatefulSet = T.Object({
    spec: T.Object({
      template: T.Object({
        spec: T.Object({ containers: T.Array(T.Object({ command: T.Array(T.String()) })) }),
      }),
    }),
  });

  async function commands(): Promise<string[]> {
    const compose = Value.Decode(Compose, Bun.YAML.parse(await shipped("compose/compose.yaml")));
    const [set] = Value.Decode(
      T.Array(T.Unknown()),
      Bun.YAML.parse(await shipped("kubernetes/redis.yaml")),
    );
    const [container] = Value.Decode(StatefulSet, set).spec.template.spec.containers;
    return [
      // Compose takes two for one.
      compose.services.redis.command[2]?.replaceAll("$$", "$") ?? "",
      (container?.command[2] ?? "").replace("--dir /data", ""),
    ];
  }

  test.skipIf(!hasRedis)(
    "wants its password, keeps what it is told and drops nothing",
    async () => {
      for (const command of await commands()) {
        await using folder = await tempDir();
        const port = await freePort();
        const password = "a-long-%s-secret";
        const client = () =>
          new RedisClient(`redis://:${encodeURIComponent(password)}@127.0.0.1:${port}`, {
            autoReconnect: false,
          });
        const line = command.replace(
          "redis-server -",
          `redis-server - --bind 127.0.0.1 --port ${port}`,
        );
        await using _ = await runProgram(["env", `REDISCLI_AUTH=${password}`, "sh", "-c", line], {
          cwd: folder.path,
          isReady: async () => (await client().send("PING", [])) === "PONG",
        });
        const asked = client();
        expect(await asked.send("CONFIG", ["GET", "maxmemory-policy"])).toMatchObject({
          "maxmemory-policy": "noeviction",
        });
        expect(await asked.send("CONFIG", ["GET", "appendonly"])).toMatchObject({
          appendonly: "yes",
        });
        asked.close();
        const stranger = new RedisClient(`redis://127.0.0.1:${port}`, { autoReconnect: false });
        expect(await stranger.send("PING", []).catch((error) => error.message)).toContain("NOAUTH");
        stranger.close();
      }
    },
  );
});
