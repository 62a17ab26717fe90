import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type ConfiguredNode, configuredNode } from "../support/configured-node.ts";
import { closedBy, connectRaw } from "../support/raw-client.ts";
import { tinyChatConfig } from "../support/tiny-node.ts";

let node: ConfiguredNode;
beforeAll(async () => {
  const args = ["--default-concurrency", "1", "--keep-alive", "1"];
  node = await configuredNode(await tinyChatConfig(), { args });
});
afterAll(() => node[Symbol.asyncDispose]());

const ask = (origin: string, body: object, signal: AbortSignal | null = null) =>
  fetch(`${origin}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    // A connection that is kept may be closed just when it is used again.
    keepalive: false,
    body: JSON.stringify({
      model: "tiny-chat",
      messages: [{ role: "user", content: "hi" }],
      logit_bias: { "2": -100 },
      ...body,
    }),
    signal,
  });

const head = [
  "POST /v1/chat/completions HTTP/1.1",
  "Host: localhost",
  "Content-Type: application/json",
  "Content-Length: 100",
].join("\r\n");

describe("a client that is slow", () => {
  test("to send its body is answered 408, and its connection is closed", async () => {
    const args = ["--body-timeout", "1", "--default-concurrency", "1"];
    await using impatient = await configuredNode(await tinyChatConfig(), { args });
    const { origin } = impatient;
    using client = await connectRaw(origin);
    client.send(`${head}\r\n\r\n{"model"`);
    const trickle = setInterval(() => client.send(" "), 100);
    const answer = await closedBy(client).finally(() => clearInterval(trickle));
    expect(answer).toStartWith("HTTP/1.1 408 Request Timeout\r\n");
    expect(answer).toContain('"code":"body_timeout"');
    // Its place is free again.
    const next = await ask(origin, { max_tokens: 1 });
    expect(next.status).toBe(200);
  });

  test("and leaves amid a stream gives its place back", async () => {
    const client = new AbortController();
    const stream = await ask(node.origin, { stream: true, max_tokens: 1900 }, client.signal);
    await stream.body?.getReader().read();
    expect((await ask(node.origin, { max_tokens: 1 })).status).toBe(429);
    client.abort();
    let next = await ask(node.origin, { max_tokens: 1 });
    while (next.status === 429) next = await ask(node.origin, { max_tokens: 1 });
    expect(next.status).toBe(200);
  });

  test("to send its headers, or sends nothing at all, is hung up on", async () => {
    using idle = await connectRaw(node.origin);
    using half = await connectRaw(node.origin);
    half.send(`${head}\r\n`);
    using trickling = await connectRaw(node.origin);
    const trickle = setInterval(() => trickling.send("G"), 500);
    const answers = await Promise.all([idle, half, trickling].map(closedBy)).finally(() =>
      clearInterval(trickle),
    );
    expect(answers.every((answer) => !answer.includes("200"))).toBe(true);
  });

  test("to ask again after an answer is hung up on, also after a stream", async () => {
    const body = JSON.stringify({
      model: "tiny-chat",
      stream: true,
      max_tokens: 1,
      messages: [{ role: "user", content: "hi" }],
    });
    using plain = await connectRaw(node.origin);
    plain.send("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
    using stream = await connectRaw(node.origin);
    stream.send(
      `POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    const [health, chat] = await Promise.all([closedBy(plain), closedBy(stream)]);
    expect(health).toContain('{"status":"alive"}');
    expect(chat).toContain("data: [DONE]");
  });
});
