import { expect, test } from "bun:test";
import { configuredNode } from "../support/configured-node.ts";
import { closedBy, connectRaw } from "../support/raw-client.ts";
import { tinyChatConfig } from "../support/tiny-node.ts";

/** The answer to a request as it is on the wire. */
async function exchange(origin: string, ...lines: string[]): Promise<string> {
  using client = await connectRaw(origin);
  client.send(`${[...lines, "Connection: close"].join("\r\n")}\r\n\r\n`);
  return await closedBy(client);
}

test("a node on loopback answers to its own names, and to pages that it was told of", async () => {
  const page = "https://app.example.org";
  const args = ["--cors-origins", page, "--allowed-hosts", "node.example.org"];
  await using node = await configuredNode(await tinyChatConfig(), { args });
  const info = (host: string) => exchange(node.origin, "GET /v1/info HTTP/1.1", `Host: ${host}`);
  const refused = await info("rebound.example:8080");
  expect(refused).toStartWith("HTTP/1.1 403 Forbidden\r\n");
  expect(refused).toContain('"code":"unknown_host"');
  expect(refused).toContain("PADDOCK_ALLOWED_HOSTS");
  for (const host of ["localhost:8080", "127.0.0.1", "[::1]:8080", "node.example.org"]) {
    expect(await info(host)).toStartWith("HTTP/1.1 200 OK\r\n");
  }
  const preflight = await exchange(
    node.origin,
    "OPTIONS /v1/chat/completions HTTP/1.1",
    "Host: localhost",
    `Origin: ${page}`,
    "Access-Control-Request-Method: POST",
    "Access-Control-Request-Headers: authorization,content-type",
  );
  expect(preflight).toStartWith("HTTP/1.1 204 No Content\r\n");
  expect(preflight.toLowerCase()).toContain(`access-control-allow-origin: ${page}\r\n`);
  expect(preflight.toLowerCase()).not.toContain("access-control-allow-credentials");
});

test("a node that others can reach answers to any name", async () => {
  const args = ["--host", "0.0.0.0", "--auth-open", "true"];
  await using node = await configuredNode(await tinyChatConfig(), { args });
  const origin = `http://127.0.0.1:${new URL(node.origin).port}`;
  const answer = await exchange(origin, "GET /v1/info HTTP/1.1", "Host: any.example");
  expect(answer).toStartWith("HTTP/1.1 200 OK\r\n");
});
