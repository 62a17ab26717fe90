import { expect, test } from "bun:test";
import { pageHeaders, serveText, toServed } from "../../../src/server/page.ts";

const policyOf = (headers: Record<string, string>): string[] =>
  headers["content-security-policy"]?.split("; ") ?? [];

test("every page lets in nothing from elsewhere, is framed by nobody and sends no referrer", () => {
  const headers = pageHeaders();
  expect(policyOf(headers)).toEqual([
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ]);
  expect(headers).toMatchObject({
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
  });
});

test("a page can have directives of its own, beside these or instead of them", () => {
  const policy = policyOf(
    pageHeaders({ "style-src": "'self' 'unsafe-inline'", "trusted-types": "'none'" }),
  );
  expect(policy).toContain("style-src 'self' 'unsafe-inline'");
  expect(policy).not.toContain("style-src 'self'");
  expect(policy.at(-1)).toBe("trusted-types 'none'");
});

test("a text that is the same for everyone is in memory once, whoever reads it slowly", async () => {
  const megabytes = 16;
  const served = toServed("é".repeat(megabytes * 2 ** 19), "text/plain");
  let asked = 0;
  const all = Promise.withResolvers<void>();
  const clients = 16;
  using server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) => {
      if (++asked === clients) all.resolve();
      return serveText(request, served, {});
    },
  });
  const { hostname, port } = server;
  Bun.gc(true);
  const before = process.memoryUsage.rss();
  const sockets = await Promise.all(
    Array.from({ length: clients }, async () => {
      const socket = await Bun.connect({
        hostname: hostname ?? "",
        port: port ?? 0,
        socket: { data: (reader) => void reader.pause() },
      });
      socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
      return socket;
    }),
  );
  await all.promise;
  await Bun.sleep(0);
  const more = (process.memoryUsage.rss() - before) / 2 ** 20;
  for (const socket of sockets) socket.terminate();
  expect(more).toBeLessThan((clients * megabytes) / 4);
});
