import { expect, test } from "bun:test";
import type { OAuthClientProvider } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { decodeError } from "../support/decode.ts";
import { listeningApp } from "../support/listening-app.ts";
import { rejectionOf } from "../support/rejection.ts";
import { testApp } from "../support/test-app.ts";

test.each([
  ["POST", "/api/create", "does not make, copy or publish models"],
  ["POST", "/api/copy", "does not make, copy or publish models"],
  ["POST", "/api/push", "does not make, copy or publish models"],
  ["HEAD", "/api/blobs/sha256:00", ""],
  ["POST", "/api/me", "Of Ollama's API this node has"],
])("Ollama's clients are told what the node does not do: %s %s", async (method, path, why) => {
  const request = new Request(`http://localhost${path}`, { method });
  const response = await testApp().handle(request);
  expect(response.status).toBe(404);
  if (method === "HEAD") return;
  expect(await response.json()).toEqual({ error: expect.stringContaining(why) });
});

test("Ollama's clients are told of a wrong method", async () => {
  const response = await testApp().get("/api/chat");
  expect([response.status, response.headers.get("allow"), await response.json()]).toEqual([
    ...[405, "POST", { error: "GET is not possible at /api/chat; use POST." }],
  ]);
});

test("Ollama's clients read other errors as a text too", async () => {
  const foreign = new Request("http://elsewhere.example/api/tags");
  const response = await testApp({ allowedHosts: [] }).handle(foreign);
  expect([response.status, await response.json()]).toEqual([403, { error: expect.any(String) }]);
});

test("compacting a conversation is a 404 that says what is not done", async () => {
  const response = await testApp().post("/v1/responses/compact", { model: "chatty", input: "a" });
  expect(response.status).toBe(404);
  expect((await decodeError(response)).message).toContain("does not compact conversations");
});

/** A client that would have a person sign in. */
const signingIn: OAuthClientProvider = {
  redirectUrl: "http://127.0.0.1/callback",
  clientMetadata: { redirect_uris: ["http://127.0.0.1/callback"] },
  clientInformation: () => undefined,
  tokens: () => undefined,
  saveClientInformation() {},
  saveTokens() {},
  redirectToAuthorization() {},
  saveCodeVerifier() {},
  codeVerifier: () => "",
};

test("a client of MCP that knows OAuth says that a key is missing", async () => {
  await using app = listeningApp({ keys: ["a-key"] });
  const client = new Client({ name: "tests", version: "1.0.0" });
  const url = new URL("/mcp", app.origin);
  const transport = new StreamableHTTPClientTransport(url, { authProvider: signingIn });
  const refused = await rejectionOf(client.connect(transport));
  expect(String(refused)).toContain("an API key is missing or wrong");
});

test("/mcp without a key says that there is no sign-in", async () => {
  const app = testApp({ keys: ["a-key"] });
  const response = await app.post("/mcp", { jsonrpc: "2.0", id: 1, method: "ping" });
  expect([response.status, response.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
  const { message } = await decodeError(response);
  expect(message).toContain("An API key is needed");
  expect(message).toContain("There is no OAuth here");
});
