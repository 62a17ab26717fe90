import { describe, expect, test } from "bun:test";
import { finish } from "../support/scripted-engines.ts";
import { testApp } from "../support/test-app.ts";

const chat = { model: "chatty", messages: [{ role: "user", content: "q" }] };

describe("a page", () => {
  test.each(["/docs", "/docs/start.js"])(
    "runs what the node serves and nothing else, and is framed by nobody: %s",
    async (path) => {
      const { headers } = await testApp().get(path);
      expect(headers.get("content-security-policy")).toBe(
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      );
      expect(headers.get("x-frame-options")).toBe("DENY");
      expect(headers.get("referrer-policy")).toBe("no-referrer");
    },
  );

  test("has no script or style inside that the policy would refuse", async () => {
    const html = await (await testApp().get("/docs")).text();
    expect(html).not.toMatch(/<style|style=|\son\w+=|<script(?![^>]*src="\/)/);
  });
});

test("no answer is taken for another type than it has", async () => {
  const app = testApp();
  app.chat.script(finish);
  const answers = [
    await app.get("/docs"),
    await app.get("/docs/swagger-ui.css"),
    await app.get("/openapi.json"),
    await app.get("/v1/info"),
    await app.get("/nowhere"),
    await app.post("/v1/embeddings", "{"),
    await app.post("/v1/chat/completions", { ...chat, stream: true }),
    await testApp({ draining: true }).get("/v1/info"),
  ];
  expect(answers.map(({ headers }) => headers.get("x-content-type-options"))).toEqual(
    answers.map(() => "nosniff"),
  );
});

describe("a node on loopback", () => {
  const ask = (host: string, allowedHosts?: readonly string[]) =>
    testApp(allowedHosts === undefined ? {} : { allowedHosts }).handle(
      new Request("http://localhost/v1/info", { headers: { host } }),
    );

  test("refuses a request for another host, and says how to allow it", async () => {
    const response = await ask("evil.example:8080", []);
    expect(response.status).toBe(403);
    expect(response.headers.get("x-request-id")).not.toBeNull();
    expect(await response.json()).toEqual({
      error: {
        message: expect.stringContaining("[http] allowed_hosts"),
        type: "invalid_request_error",
        param: null,
        code: "unknown_host",
      },
    });
  });

  test("answers to this machine's names and to those allowed; another node to any", async () => {
    expect((await ask("localhost:8080", [])).status).toBe(200);
    expect((await ask("evil.example", ["evil.example"])).status).toBe(200);
    expect((await ask("evil.example")).status).toBe(200);
  });
});
