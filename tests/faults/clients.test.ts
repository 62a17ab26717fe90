/** Many clients, and clients that leave, read slowly or send slowly. */
import { describe, expect, test } from "bun:test";
import { once } from "node:events";
import { connect } from "node:net";
import { join } from "node:path";
import { listeningApp } from "../support/listening-app.ts";
import {
  chatBody,
  embeddingBody,
  nodeUnderFault,
  sharedNode,
  slots,
} from "../support/node-under-fault.ts";
import { memoryOf } from "../support/process-tree.ts";
import { frames } from "../support/sse.ts";
import { tempDir } from "../support/temp-dir.ts";
import { waitFor } from "../support/wait-for.ts";

const startedNode = sharedNode();

const long = (content: string, tokens: number, rest: object = {}) =>
  chatBody(content, tokens, { stream: true, ...rest });

describe("clients", () => {
  test("200 at once: each is answered, or refused by name because the line is full", async () => {
    const under = await startedNode();
    const requests = Array.from({ length: 200 }, async (_, at) => {
      if (at % 4 === 1) return await under.post("/embeddings", embeddingBody([`text ${at}`]));
      if (at % 4 === 2) return await under.post("/chat/completions", long(`${at}`, 20));
      return await under.post("/chat/completions", chatBody(`${at}`, 20));
    });
    const answers = await Promise.all(requests);
    const texts = await Promise.all(answers.map((answer) => answer.text()));
    const refused = answers.filter(({ status }) => status !== 200);
    // 50 embeddings, and of 150 chats those that the slots and the line of 64 hold, at least.
    expect(answers.length - refused.length).toBeGreaterThanOrEqual(50 + slots + 64);
    for (const [at, { status, headers }] of answers.entries()) {
      if (status === 200) continue;
      expect([status, headers.get("retry-after")]).toEqual([503, "5"]);
      expect(texts[at]).toContain('"code":"queue_full"');
    }
    await under.expectWell();
  });

  test("that leave at random, before and amid answers, leave nothing behind", async () => {
    const under = await startedNode();
    const random = seeded(7);
    const leaving = Array.from({ length: 120 }, async (_, at) => {
      const leave = new AbortController();
      const timer = setTimeout(() => leave.abort(), random() * 400);
      try {
        const body =
          at % 5 === 0 ? embeddingBody(["a", "b"]) : long(`${at} ${"x".repeat(300)}`, 400);
        const path = at % 5 === 0 ? "/embeddings" : "/chat/completions";
        const response = await under.post(path, body, { signal: leave.signal });
        for await (const _ of frames(response)) if (random() < 0.02) leave.abort();
      } catch (error) {
        if (!leave.signal.aborted) throw error;
      } finally {
        clearTimeout(timer);
      }
    });
    await Promise.all(leaving);
    await under.expectWell();
  });

  test("that do not read slow down their own answers and nobody's memory", async () => {
    const under = await startedNode();
    const { pid } = under.node.process;
    const before = await memoryOf(pid);
    // With log probabilities an answer is larger than what sockets hold.
    const body = JSON.stringify(long("slow", 1900, { logprobs: true, top_logprobs: 20 }));
    const readers = Array.from({ length: slots - 1 }, () => rawPost(under.node.origin, body));
    await waitFor("an answer to begin", () => readers.every((reader) => reader.begun()));
    // The slot that is left serves everyone else.
    for (let at = 0; at < 10; at++) {
      expect((await under.post("/chat/completions", chatBody(`${at}`, 20))).status).toBe(200);
    }
    expect(await memoryOf(pid)).toBeLessThan(before + 200e6);
    for (const reader of readers) reader.close();
    await under.expectWell();
  });

  test("that read nothing for longer than stall_timeout lose their answers, and others get the slots", async () => {
    await using under = await nodeUnderFault({ top: "[http]\nstall_timeout = 1" });
    // Four answers in one stream are larger than what sockets hold, by far.
    const body = JSON.stringify(long("slow", 1900, { logprobs: true, top_logprobs: 20, n: slots }));
    const reader = rawPost(under.node.origin, body);
    await waitFor("the answers to begin", () => reader.begun());
    // Without that bound it would wait for request_timeout, ten minutes.
    expect((await under.post("/chat/completions", chatBody("hello", 20))).status).toBe(200);
    await waitFor("the log to say so", () =>
      under.node.stderr().includes('"outcome":"client stalled"'),
    );
    reader.close();
    await under.expectWell();
  });

  test("that send slowly, or stop amid a request, keep nobody from being answered", async () => {
    const under = await startedNode();
    const { hostname, port } = new URL(under.node.origin);
    const head =
      "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n";
    const parts = ["", "POS", head, `${head}\r\n`, `${head}\r\n{"model":`];
    const senders = await Promise.all(
      Array.from({ length: 50 }, async (_, at) => {
        const socket = connect(Number(port), hostname);
        socket.on("error", () => {});
        await new Promise((resolve) => socket.once("connect", resolve));
        socket.write(parts[at % parts.length] ?? "");
        return socket;
      }),
    );
    await under.expectWell();
    for (const socket of senders) socket.destroy();
    await under.expectWell();
  });
});

/** Sends a request on a socket of its own and reads no more than the first bytes of the answer. */
function rawPost(origin: string, body: string): { begun(): boolean; close(): void } {
  const { hostname, port } = new URL(origin);
  let isBegun = false;
  const socket = connect(Number(port), hostname);
  socket.on("error", () => {});
  socket.once("data", () => {
    isBegun = true;
    socket.pause();
  });
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
  return { begun: () => isBegun, close: () => socket.destroy() };
}

/** Numbers from 0 to 1 that chance made once, so that a failure can be looked at again. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return state / 2147483648;
  };
}

test("a client that pauses in a download gets the rest of it", async () => {
  await using folder = await tempDir();
  const file = Bun.file(join(folder.path, "large"));
  const size = 32 << 20;
  await Bun.write(file, new Uint8Array(size));
  await using watched = listeningApp();
  watched.instead = () => new Response(file);
  const client = connect({ host: "127.0.0.1", port: Number(new URL(watched.origin).port) });
  client.write("GET /file HTTP/1.1\r\nHost: localhost\r\n\r\n");
  let received = 0;
  client.on("data", (bytes) => (received += bytes.length));
  await once(client, "data");
  client.pause();
  // Longer than the server waits for the headers of a connection.
  await Bun.sleep(13_000);
  const closed = once(client, "close").then(() => true);
  client.resume();
  while (received < size && !(await Promise.race([closed, Bun.sleep(10)])));
  expect(received).toBeGreaterThanOrEqual(size);
  client.destroy();
});
