import { describe, expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type ServingPaddock, servePaddock } from "../support/paddock-process.ts";
import { closedBy, connectRaw } from "../support/raw-client.ts";
import { type TempDir, tempDir } from "../support/temp-dir.ts";
import { tinyConfig } from "../support/tiny-node.ts";

interface Served extends AsyncDisposable {
  node: ServingPaddock;
}

async function served(args: readonly string[] = []): Promise<Served> {
  const resources = new AsyncDisposableStack();
  const folder: TempDir = resources.use(await tempDir());
  await writeFile(join(folder.path, "paddock.toml"), await tinyConfig());
  const node = resources.use(await servePaddock({ cwd: folder.path }, args));
  return { node, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

const head = [
  "POST /v1/embeddings HTTP/1.1",
  "Host: localhost",
  "Content-Type: application/json",
  "Content-Length: 100",
].join("\r\n");

describe("a client that is slow", () => {
  test("to send its body is answered 408, and its connection is closed", async () => {
    await using running = await served(["--body-timeout", "1", "--default-concurrency", "1"]);
    const { origin } = running.node;
    using client = await connectRaw(origin);
    client.send(`${head}\r\n\r\n{"model"`);
    const trickle = setInterval(() => client.send(" "), 100);
    const answer = await closedBy(client).finally(() => clearInterval(trickle));
    expect(answer).toStartWith("HTTP/1.1 408 Request Timeout\r\n");
    expect(answer).toContain('"code":"body_timeout"');
    // Its place is free again.
    const next = await fetch(`${origin}/v1/embeddings`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "tiny-embedding", input: "a" }),
    });
    expect(next.status).toBe(200);
  });

  test("and leaves amid a stream gives its place back", async () => {
    await using running = await served(["--default-concurrency", "1"]);
    const ask = (body: object, signal?: AbortSignal) =>
      fetch(`${running.node.origin}/v1/chat/completions`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({
          model: "tiny-chat",
          messages: [{ role: "user", content: "hi" }],
          logit_bias: { "2": -100 },
          ...body,
        }),
        ...(signal === undefined ? {} : { signal }),
      });
    const client = new AbortController();
    const stream = await ask({ stream: true, max_tokens: 1900 }, client.signal);
    await stream.body?.getReader().read();
    expect((await ask({ max_tokens: 1 })).status).toBe(429);
    client.abort();
    let next = await ask({ max_tokens: 1 });
    while (next.status === 429) next = await ask({ max_tokens: 1 });
    expect(next.status).toBe(200);
  });

  test("to send its headers, or sends nothing at all, is hung up on", async () => {
    await using running = await served();
    using idle = await connectRaw(running.node.origin);
    using half = await connectRaw(running.node.origin);
    half.send(`${head}\r\n`);
    using trickling = await connectRaw(running.node.origin);
    const trickle = setInterval(() => trickling.send("G"), 500);
    const answers = await Promise.all([idle, half, trickling].map(closedBy)).finally(() =>
      clearInterval(trickle),
    );
    expect(answers.every((answer) => !answer.includes("200"))).toBe(true);
  });

  test("to ask again after an answer is hung up on, also after a stream", async () => {
    await using running = await served(["--keep-alive", "1"]);
    const body = JSON.stringify({
      model: "tiny-chat",
      stream: true,
      max_tokens: 1,
      messages: [{ role: "user", content: "hi" }],
    });
    using plain = await connectRaw(running.node.origin);
    plain.send("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
    using stream = await connectRaw(running.node.origin);
    stream.send(
      `POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    const [health, chat] = await Promise.all([closedBy(plain), closedBy(stream)]);
    expect(health).toContain('{"status":"alive"}');
    expect(chat).toContain("data: [DONE]");
  });
});
