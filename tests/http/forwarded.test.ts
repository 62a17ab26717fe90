import { describe, expect, test } from "bun:test";
import { finish } from "../support/scripted-engines.ts";
import { type TestAppOptions, testApp } from "../support/test-app.ts";

const chat = { model: "chatty", messages: [{ role: "user", content: "q" }] };
const proxied = { "x-forwarded-for": "203.0.113.7" };

/** What a request that a proxy passed on is answered with. */
async function statusOf(
  path: string,
  headers: Record<string, string> = proxied,
  options: TestAppOptions = {},
): Promise<number> {
  const app = testApp(options);
  return (await app.handle(new Request(`http://localhost${path}`, { headers }))).status;
}

describe("a node without keys", () => {
  test("refuses what a proxy passed on, before anything is computed, and says what to do", async () => {
    const app = testApp();
    const response = await app.post("/v1/chat/completions", chat, proxied);
    expect([response.status, app.chat.requests]).toEqual([403, []]);
    expect(response.headers.get("x-request-id")).not.toBeNull();
    expect(await response.json()).toEqual({
      error: {
        message: expect.stringMatching(/paddock keys create.*\[auth\] open = true/s),
        type: "invalid_request_error",
        param: null,
        code: "keys_required",
      },
    });
  });

  test.each([
    "Forwarded",
    "Via",
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "X-Forwarded-Proto",
    "X-Real-IP",
    "X-Client-IP",
    "CF-Connecting-IP",
    "True-Client-IP",
  ])("knows a proxy by %s, whatever it says", async (name) => {
    expect(await statusOf("/v1/info", { [name]: "127.0.0.1" })).toBe(403);
    expect(await statusOf("/v1/info", { [name]: "" })).toBe(403);
  });

  test.each(["/", "/docs", "/openapi.json", "/metrics", "/v1/models", "/v1/info", "/nowhere"])(
    "refuses it everywhere: %s",
    async (path) => {
      expect(await statusOf(path)).toBe(403);
    },
  );

  test("answers those who watch it, also through a proxy", async () => {
    expect(await statusOf("/health")).toBe(200);
    expect(await statusOf("/ready")).toBe(200);
    expect(await statusOf("/metrics", proxied, { metricsOpen: true })).toBe(200);
  });

  test("answers a proxy's clients where it is open to all on purpose", async () => {
    const app = testApp({ open: true });
    app.chat.script(finish);
    expect((await app.post("/v1/chat/completions", chat, proxied)).status).toBe(200);
  });

  test("answers this machine", async () => {
    expect(await statusOf("/v1/info", {})).toBe(200);
  });
});

describe("a node with keys", () => {
  const key = "a-long-secret";

  test("answers a proxy's clients by their keys", async () => {
    const app = testApp({ keys: [key] });
    app.chat.script(finish);
    const ask = async (headers: Record<string, string>): Promise<number> =>
      (await app.post("/v1/chat/completions", chat, { ...proxied, ...headers })).status;
    expect(await ask({ authorization: `Bearer ${key}` })).toBe(200);
    expect(await ask({})).toBe(401);
  });

  test("shows what is public through a proxy as well", async () => {
    expect(await statusOf("/", proxied, { keys: [key] })).toBe(200);
    expect(await statusOf("/v1/info", proxied, { keys: [key] })).toBe(200);
  });
});

describe("a page of a stranger", () => {
  test("gains nothing by saying that it was passed on", async () => {
    // The header is not among those that a page may send without being asked; none is granted.
    const response = await testApp().handle(
      new Request("http://localhost/v1/chat/completions", {
        method: "OPTIONS",
        headers: {
          origin: "https://evil.example",
          "access-control-request-method": "POST",
          "access-control-request-headers": "x-forwarded-for",
        },
      }),
    );
    expect(response.headers.get("access-control-allow-headers")).toBeNull();
  });
});
