import { describe, expect, test } from "bun:test";
import { operations } from "../../src/server/operations.ts";
import { finish } from "../support/scripted-engines.ts";
import { type TestAppOptions, testApp } from "../support/test-app.ts";

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

describe("a request that changes something, from a browser", () => {
  const upload = (headers: Record<string, string>, options: TestAppOptions = {}) =>
    testApp(options).handle(
      new Request("http://localhost/v1/files", { method: "POST", headers, body: new FormData() }),
    );
  const statusOf = async (...from: Parameters<typeof upload>) => (await upload(...from)).status;
  /** The form is read, and refused for what is not in it. */
  const isHeard = 400;
  const page = "https://app.example.org";

  test("is refused from a page of another origin, on every operation, and says what to do", async () => {
    const changing = operations.map(({ facts }) => facts).filter(({ method }) => method !== "GET");
    expect(changing.length).toBeGreaterThan(10);
    for (const { method, path } of changing) {
      const response = await testApp().handle(
        new Request(`http://localhost${path}`, { method, headers: { origin: page } }),
      );
      expect([path, response.status]).toEqual([path, 403]);
      expect(await response.text()).toContain("[http] cors_origins");
    }
  });

  test("is refused by what the browser says of the page, also without an origin", async () => {
    expect(await statusOf({ "sec-fetch-site": "cross-site" })).toBe(403);
    expect(await statusOf({ "sec-fetch-site": "same-site" })).toBe(403);
    expect(await statusOf({ origin: "null" })).toBe(403);
    expect(await statusOf({ "sec-fetch-site": "cross-site", origin: "http://localhost" })).toBe(
      403,
    );
    const wrong = { "x-forwarded-host": "node.example.org", origin: page };
    expect(await statusOf(wrong, { open: true })).toBe(403);
  });

  test("is heard from the node's own page, from origins that are named, and from programs", async () => {
    expect(await statusOf({})).toBe(isHeard);
    expect(await statusOf({ host: "localhost:8080", origin: "http://localhost:8080" })).toBe(
      isHeard,
    );
    // A proxy that names itself in the host: the browser knows better, or the proxy says it.
    expect(await statusOf({ "sec-fetch-site": "same-origin", origin: page })).toBe(isHeard);
    const passedOn = { "x-forwarded-host": "app.example.org", origin: page };
    expect(await statusOf(passedOn, { open: true })).toBe(isHeard);
    expect(await statusOf({ "sec-fetch-site": "none" })).toBe(isHeard);
    const foreign = { "sec-fetch-site": "cross-site", origin: page };
    expect(await statusOf(foreign, { corsOrigins: [page] })).toBe(isHeard);
    expect(await statusOf(foreign, { corsOrigins: ["*"] })).toBe(isHeard);
  });

  test("that only reads is answered to whoever asks, and no page may read it", async () => {
    const headers = { origin: page, "sec-fetch-site": "cross-site" };
    const response = await testApp().get("/v1/models", headers);
    expect([response.status, response.headers.get("access-control-allow-origin")]).toEqual([
      200,
      null,
    ]);
  });
});
