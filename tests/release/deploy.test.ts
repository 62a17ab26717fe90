/** The configurations of deploy/, run by the programs that they are for. */
import { describe, expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { connect } from "node:tls";
import { freePort } from "../support/free-port.ts";
import { installed, runProgram } from "../support/installed-program.ts";
import { type ListeningApp, listeningApp } from "../support/listening-app.ts";
import { adapted, proxyStarter, shipped } from "../support/proxies.ts";
import { finish } from "../support/scripted-engines.ts";
import { frames } from "../support/sse.ts";
import { tempDir } from "../support/temp-dir.ts";

const key = "a-long-secret";
const host = ({ origin }: ListeningApp): string => new URL(origin).host;

const asks = (body: object): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
  body: JSON.stringify({
    model: "chatty",
    messages: [{ role: "user", content: "q" }],
    ...body,
  }),
});

describe.each(["nginx", "caddy"] as const)("the configuration for %s", (name) => {
  const start = proxyStarter(name);

  test.skipIf(start === undefined)("passes requests and answers on", async () => {
    await using app = listeningApp({ keys: [key], allowedHosts: [] });
    await using proxy = await start?.(host(app));
    app.chat.script({ type: "text", text: "Hello" }, finish);
    const answer = await proxy?.fetch("/v1/chat/completions", asks({}));
    expect([answer?.status, await answer?.json()]).toMatchObject([
      200,
      { choices: [{ message: { content: "Hello" } }] },
    ]);
    expect((await proxy?.fetch("/v1/chat/completions", { method: "POST" }))?.status).toBe(401);
  });

  test.skipIf(start === undefined)("passes each token on when it is there", async () => {
    await using app = listeningApp({ keys: [key], allowedHosts: [] });
    await using proxy = await start?.(host(app));
    const seen = Promise.withResolvers<void>();
    const first = { type: "text", text: "one" } as const;
    const last = { type: "text", text: "two" } as const;
    // The second token comes only once the first was read at the other end.
    app.chat.script(first, () => seen.promise, last, finish);
    const answer = await proxy?.fetch("/v1/chat/completions", asks({ stream: true }));
    const texts: string[] = [];
    for await (const frame of frames(answer ?? new Response())) {
      texts.push(frame === "[DONE]" ? frame : (JSON.parse(frame).choices[0]?.delta.content ?? ""));
      if (texts.includes("one")) seen.resolve();
    }
    expect(texts.filter((text) => text !== "")).toEqual(["one", "two", "[DONE]"]);
  });

  test.skipIf(start === undefined)("does not publish a node without keys", async () => {
    await using app = listeningApp({ allowedHosts: [] });
    await using proxy = await start?.(host(app));
    const refused = await proxy?.fetch("/v1/chat/completions", asks({}));
    expect([refused?.status, await refused?.json()]).toMatchObject([
      403,
      { error: { code: "keys_required" } },
    ]);
    expect((await proxy?.fetch("/ready"))?.status).toBe(200);
    // A client that asks the proxy to drop the header as one of the connection's.
    const raw = await rawStatus(proxy?.port ?? 0, "Connection: close, X-Forwarded-For");
    expect(raw).toBe(403);
  });

  test.skipIf(start === undefined)("says who asks, and not who they claim to be", async () => {
    await using app = listeningApp({ keys: [key], allowedHosts: [] });
    await using proxy = await start?.(host(app));
    const heard: (string | null)[] = [];
    app.instead = ({ headers, url }) => {
      if (url.endsWith("/v1/info")) heard.push(headers.get("x-forwarded-for"));
      return undefined;
    };
    const headers = { "x-forwarded-for": "203.0.113.7" };
    expect((await proxy?.fetch("/v1/info", { headers }))?.status).toBe(200);
    expect(heard).toEqual(["127.0.0.1"]);
  });
});

/** The status of a request with a header that fetch would not send. */
async function rawStatus(port: number, header: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  // Who answers is not what is asked here.
  const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false });
  let text = "";
  socket.on("error", reject);
  socket.on("data", (bytes) => {
    text += bytes;
    if (text.includes("\r\n")) resolve(text);
  });
  socket.on("close", () => resolve(text));
  socket.write(`GET /v1/info HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${header}\r\n\r\n`);
  const status = Number(/^HTTP\/1\.1 (\d+)/.exec(await promise)?.[1]);
  socket.destroy();
  return status;
}

describe("the configuration for Prometheus", () => {
  const program = installed("prometheus");

  test.skipIf(program === undefined)("collects the numbers of a node with keys", async () => {
    await using app = listeningApp({ keys: [key] });
    await using folder = await tempDir();
    const keyFile = join(folder.path, "paddock-key");
    await writeFile(keyFile, `${key}\n`);
    const config = adapted(await shipped("prometheus.yml"), [
      ["127.0.0.1:8080", host(app)],
      ["/etc/prometheus/paddock-key", keyFile],
      ["scrape_interval: 15s", "scrape_interval: 1s"],
    ]);
    const file = join(folder.path, "prometheus.yml");
    await writeFile(file, config);
    const address = `127.0.0.1:${await freePort()}`;
    const query = async (expression: string): Promise<unknown> => {
      const asked = `http://${address}/api/v1/query?query=${encodeURIComponent(expression)}`;
      const { data } = (await (await fetch(asked)).json()) as {
        data: { result: { value: [number, string] }[] };
      };
      return data.result.map(({ value }) => value[1]);
    };
    const storage = join(folder.path, "storage");
    await using _ = await runProgram(
      [
        program ?? "",
        `--config.file=${file}`,
        `--storage.tsdb.path=${storage}`,
        `--web.listen-address=${address}`,
      ],
      { cwd: folder.path, isReady: async () => String(await query("up")) !== "" },
    );
    expect(await query('up{job="paddock"}')).toEqual(["1"]);
    expect(await query("paddock_ready")).toEqual(["1"]);
  });
});
