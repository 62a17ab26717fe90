import { describe, expect, test } from "bun:test";
import { finish } from "../support/scripted-engines.ts";
import { type TestApp, testApp } from "../support/test-app.ts";

const page = "https://app.example.org";
const chat = { model: "chatty", messages: [{ role: "user", content: "q" }] };

const preflight = (origin: string, headers: Record<string, string> = {}): Request =>
  new Request("http://localhost/v1/chat/completions", {
    method: "OPTIONS",
    headers: { origin, "access-control-request-method": "POST", ...headers },
  });

const corsOf = ({ headers }: Response): Record<string, string> =>
  Object.fromEntries(
    [...headers].filter(([name]) => name.startsWith("access-control-") || name === "vary"),
  );

const answers: [string, number, (app: TestApp, origin: string) => Promise<Response>][] = [
  ["a list", 200, (app, origin) => app.handle(get("/v1/models", origin))],
  [
    "a stream",
    200,
    (app, origin) => {
      app.chat.script(finish);
      return app.post(
        "/v1/chat/completions",
        { ...chat, stream: true },
        { origin, authorization: "Bearer first-good-key" },
      );
    },
  ],
  ["a missing key", 401, (app, origin) => app.post("/v1/chat/completions", chat, { origin })],
  ["an unknown address", 404, (app, origin) => app.handle(get("/nowhere", origin))],
  ["a wrong method", 405, (app, origin) => app.handle(get("/v1/retrieve", origin))],
];

const get = (path: string, origin: string): Request =>
  new Request(`http://localhost${path}`, { headers: { origin } });

const options = { keys: ["first-good-key"] };

describe("without configuration", () => {
  test.each(answers)("no page may read %s", async (_, status, ask) => {
    const response = await ask(testApp(options), page);
    // What might change something is refused before anything else is looked at.
    expect([403, status]).toContain(response.status);
    expect(corsOf(response)).toEqual({});
  });

  test("a browser that asks first is refused", async () => {
    const response = await testApp(options).handle(preflight(page));
    expect([response.status, corsOf(response)]).toEqual([405, {}]);
  });
});

describe("with origins", () => {
  const app = () => testApp({ ...options, corsOrigins: ["https://other.example", page] });

  test.each(answers)("a page of one of them may read %s", async (_, status, ask) => {
    const response = await ask(app(), page);
    expect(response.status).toBe(status);
    const { "access-control-expose-headers": exposed = "", ...others } = corsOf(response);
    expect(others).toEqual({ vary: "origin", "access-control-allow-origin": page });
    for (const name of ["x-request-id", "x-ratelimit-remaining-tokens", "x-paddock-ignored"]) {
      expect(exposed.split(", ")).toContain(name);
    }
  });

  test.each(["https://evil.example", `${page}.evil.example`, "http://app.example.org", "null"])(
    "a page of another may not: %s",
    async (origin) => {
      const asked = app();
      const response = await asked.handle(get("/v1/models", origin));
      expect([response.status, corsOf(response)]).toEqual([200, { vary: "origin" }]);
      const first = await asked.handle(preflight(origin));
      expect([first.status, corsOf(first)]).toEqual([405, { vary: "origin" }]);
    },
  );

  test("a browser that asks first is told what it may send, without a key and without credentials", async () => {
    const response = await app().handle(
      preflight(page, { "access-control-request-headers": "Authorization, X-Stainless-OS, b@d" }),
    );
    expect([response.status, await response.text()]).toEqual([204, ""]);
    expect(response.headers.get("x-request-id")).not.toBeNull();
    expect(corsOf(response)).toEqual({
      vary: "origin",
      "access-control-allow-origin": page,
      "access-control-expose-headers": expect.any(String),
      "access-control-allow-methods": "GET, POST, DELETE, OPTIONS",
      "access-control-allow-headers":
        "authorization, content-type, accept, x-request-id, x-stainless-os",
      "access-control-max-age": "600",
    });
  });

  test("an OPTIONS that is no browser's is what it always was", async () => {
    const request = new Request("http://localhost/v1/models", {
      method: "OPTIONS",
      headers: { origin: page },
    });
    expect((await app().handle(request)).status).toBe(405);
  });
});

test("with '*' every page may ask", async () => {
  const app = testApp({ ...options, corsOrigins: ["*"] });
  const response = await app.handle(get("/v1/models", "https://any.example"));
  expect(corsOf(response)).toEqual({
    "access-control-allow-origin": "*",
    "access-control-expose-headers": expect.any(String),
  });
  expect((await app.handle(preflight("https://any.example"))).status).toBe(204);
});
