/** What no HTTP client would send, on a socket to a server that really listens. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { LogFields } from "../../src/core/log.ts";
import { type ListeningApp, listeningApp } from "../support/listening-app.ts";
import { closedBy, connectRaw, type RawClient } from "../support/raw-client.ts";
import { waitFor } from "../support/wait-for.ts";

let app: ListeningApp;
beforeAll(() => {
  app = listeningApp();
});
afterAll(async () => await app[Symbol.asyncDispose]());

/** The whole answer, or what came until the server closed. */
async function ask(...parts: readonly string[]): Promise<string> {
  using client = await connectRaw(app.origin);
  for (const part of parts) client.send(part);
  while (!(client.isClosed() || isWhole(client))) await client.changed();
  const answer = client.received();
  expect(answer).not.toContain(process.cwd());
  expect(answer).not.toMatch(/node_modules|\.tsx?\b|^\s+at |<html|file:\/\//m);
  return answer;
}

function isWhole(client: RawClient): boolean {
  const [head = "", body] = client.received().split(/\r\n\r\n(.*)/s);
  if (body === undefined) return false;
  const length = /^content-length: (\d+)$/im.exec(head)?.[1];
  return length !== undefined && Buffer.byteLength(body) >= Number(length);
}

/** Lines of the access log, which are written when an answer is sent. */
async function requestsSince(before: number, count: number): Promise<LogFields[]> {
  const lines = () => app.log.slice(before).filter(({ message }) => message === "request");
  await waitFor("the access log", () => lines().length >= count);
  return lines().map(({ fields }) => fields);
}

const statusOf = (answer: string): number => Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1]);

describe("an address that cannot be parsed", () => {
  test.each([
    ["a space in the host", "GET /health HTTP/1.1\r\nHost: a b\r\n\r\n"],
    ["an empty host", "GET /health HTTP/1.1\r\nHost: \r\n\r\n"],
    ["half of an IPv6 address", "GET /health HTTP/1.1\r\nHost: [::1\r\n\r\n"],
    ["a port that is none", "GET /health HTTP/1.1\r\nHost: localhost:99999\r\n\r\n"],
    ["a host that cannot be decoded", "GET /v1/models HTTP/1.1\r\nHost: a%zz\r\n\r\n"],
    ["a user", "POST /v1/files HTTP/1.1\r\nHost: me@localhost\r\nContent-Length: 0\r\n\r\n"],
    ["a path as the host", "GET /nowhere?a=b HTTP/1.0\r\nHost: a/b?c\r\n\r\n"],
    ["a fragment", "GET /health#a HTTP/1.1\r\nHost: localhost\r\n\r\n"],
    ["no address at all", "CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n"],
  ])("is refused with 400, and has its line in the access log: %s", async (_, request) => {
    const before = app.log.length;
    const answer = await ask(request);
    expect(statusOf(answer)).toBe(400);
    expect(answer).toContain("'Host'");
    expect(answer).toMatch(/^x-request-id: req_/im);
    const [line] = await requestsSince(before, 1);
    expect(line).toMatchObject({ status: 400, outcome: "error" });
  });
});

test("HTTP/1.0 without a host is served, as load balancers ask for health", async () => {
  const before = app.log.length;
  expect(statusOf(await ask("GET /health HTTP/1.0\r\n\r\n"))).toBe(200);
  expect(statusOf(await ask("GET /v1/models?x=1 HTTP/1.0\r\n\r\n"))).toBe(200);
  expect(statusOf(await ask("GET /nowhere HTTP/1.0\r\n\r\n"))).toBe(404);
  const body = JSON.stringify({ model: "vectors", input: "a" });
  const head = `Content-Type: application/json\r\nContent-Length: ${body.length}`;
  expect(statusOf(await ask(`POST /v1/embeddings HTTP/1.0\r\n${head}\r\n\r\n${body}`))).toBe(200);
  expect((await requestsSince(before, 4)).map(({ path }) => path)).toEqual([
    "/health",
    "/v1/models",
    "/nowhere",
    "/v1/embeddings",
  ]);
});

describe("requests that are sent ahead, before the answers to those before them", () => {
  const health = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";

  test("are answered one after the other", async () => {
    using client = await connectRaw(app.origin);
    client.send(health.repeat(10));
    const answers = (): number => client.received().split('{"status":"alive"}').length - 1;
    while (answers() < 10) await client.changed();
    expect(client.isClosed()).toBe(false);
  });

  test("by the thousand end their connection: nobody waits until they are answered", async () => {
    let seen = 0;
    await using watched = listeningApp();
    watched.instead = () => {
      seen++;
      return undefined;
    };
    using client = await connectRaw(watched.origin);
    client.send(health.repeat(3000));
    await closedBy(client);
    expect(seen).toBeLessThan(100);
    expect((await fetch(`${watched.origin}/health`)).status).toBe(200);
  });
});

test("requests that each come on a new connection leave the loop its turns", async () => {
  let inTurn = 0;
  let most = 0;
  await using watched = listeningApp();
  watched.instead = () => {
    if (inTurn++ === 0) setImmediate(() => (inTurn = 0));
    most = Math.max(most, inTurn);
    return undefined;
  };
  const worker = new Worker(new URL("../support/new-connections.ts", import.meta.url).href);
  const done = new Promise((resolve, reject) => {
    worker.onmessage = resolve;
    worker.onerror = ({ message }) => reject(new Error(message));
  });
  worker.postMessage({ url: `${watched.origin}/nowhere`, requests: 2000, atOnce: 12 });
  await done;
  worker.terminate();
  expect(most).toBeLessThan(100);
});

test("what fails outside of every operation is answered without a path or a stack", async () => {
  app.instead = () => {
    throw new Error(`Cannot read ${process.cwd()}/src/main.ts`);
  };
  try {
    const answer = await ask("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
    expect(statusOf(answer)).toBe(500);
    expect(answer).toContain('"code":"internal_error"');
    expect(app.serverLog.at(-1)).toMatchObject({ level: "error", message: "a request failed" });
  } finally {
    app.instead = () => undefined;
  }
});

test("no request by chance is answered with 500, a path or a stack", async () => {
  const word = fc.oneof(
    fc.string({ unit: "binary-ascii", maxLength: 12 }),
    fc.constantFrom("[::1", "a b", "%zz", "http://[", "//", "..", "*", "\u0000", "é", "@", ":"),
  );
  const path = fc.oneof(
    fc.constantFrom("/", "/health", "/v1/models", "/v1/files", "/docs", "/mcp", "http://[/v1"),
    word.map((text) => `/${text}`),
    word,
  );
  const request = fc.record({
    method: fc.constantFrom("GET", "HEAD", "POST", "DELETE", "OPTIONS", "PATCH", "CONNECT"),
    path,
    version: fc.constantFrom("1.0", "1.1", "1.1", "2.0"),
    host: fc.option(fc.oneof(fc.constantFrom("localhost", "127.0.0.1:80"), word)),
    more: fc.array(fc.tuple(fc.constantFrom("Origin", "Accept", "Cookie", "X-Request-Id"), word), {
      maxLength: 3,
    }),
  });
  await fc.assert(
    fc.asyncProperty(request, async ({ method, path, version, host, more }) => {
      const hosts = host === null ? [] : [`Host: ${host}`];
      const others = more.map(([name, value]) => `${name}: ${value}`);
      const head = [`${method} ${path} HTTP/${version}`, ...hosts, ...others];
      // A second one that is whole: whatever was made of the first, the server closes or answers.
      const last = "\r\n\r\nGET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
      const answer = await ask(`${head.join("\r\n")}\r\nConnection: close${last}`);
      expect([...answer.matchAll(/^HTTP\/1\.1 (500)/gm)].map(([, status]) => status)).toEqual([]);
    }),
    { numRuns: 300, seed: 20261116, endOnFailure: true },
  );
});
