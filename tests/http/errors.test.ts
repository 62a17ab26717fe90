import { describe, expect, test } from "bun:test";
import { finish } from "../support/scripted-engines.ts";
import { type TestApp, testApp } from "../support/test-app.ts";

const messages = [{ role: "user", content: "q" }];
const secured: [path: string, body: Record<string, unknown>][] = [
  ["/v1/chat/completions", { model: "chatty", messages }],
  ["/v1/embeddings", { model: "vectors", input: "text" }],
  ["/v1/retrieve", { model: "vectors", messages }],
];
const paths = secured.map(([path]) => path);

const post = (
  path: string,
  body: string | Uint8Array<ArrayBuffer> | ReadableStream | null,
  headers = {},
) =>
  new Request(`http://localhost${path}`, {
    method: "POST",
    body,
    headers: { "content-type": "application/json", ...headers },
  });

/** Checks the whole error, and returns its message. */
async function failure(response: Response, status: number, code: string | null): Promise<string> {
  const text = await response.text();
  expect(response.status).toBe(status);
  expect(response.headers.get("content-type")).toStartWith("application/json");
  expect(response.headers.get("x-request-id")).not.toBeNull();
  expect(JSON.parse(text)).toEqual({
    error: { message: expect.any(String), type: "invalid_request_error", param: null, code },
  });
  return text;
}

describe.each(paths)("a body that %s cannot read", (path) => {
  test.each<[string, string | Uint8Array<ArrayBuffer> | null, string]>([
    ["malformed", '{"secret": "do not repeat"', "The body is not valid JSON."],
    ["empty", "", "The body is empty"],
    ["missing", null, "The body is empty"],
    ["not UTF-8", Uint8Array.of(0x7b, 0xff, 0x7d), "The body is not valid UTF-8."],
  ])("is a 400 that does not repeat it: %s", async (_, body, message) => {
    const text = await failure(await testApp().handle(post(path, body)), 400, null);
    expect(text).toContain(message);
    expect(text).not.toContain("do not repeat");
  });

  test("is a 415 when it is not JSON", async () => {
    const request = post(path, "model=chatty", {
      "content-type": "application/x-www-form-urlencoded",
    });
    const text = await failure(await testApp().handle(request), 415, "unsupported_media_type");
    expect(text).toContain("Content-Type: application/json");
  });

  test.each(["gzip", "br, gzip"])("is a 415 when it is compressed: %s", async (encoding) => {
    const request = post(path, "{}", { "content-encoding": encoding });
    const text = await failure(await testApp().handle(request), 415, "unsupported_media_type");
    expect(text).toContain(`'Content-Encoding: ${encoding}'`);
  });

  test("is a 413 by the length that it announces", async () => {
    const app = testApp({ maxBodyBytes: 1024 });
    const request = post(path, "{}", { "content-length": "1025" });
    const text = await failure(await app.handle(request), 413, "payload_too_large");
    expect(text).toContain("1024 bytes");
  });

  test("is a 413 by the length that it has, and is read no further", async () => {
    const app = testApp({ maxBodyBytes: 1024 });
    let pulled = 0;
    const large = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulled++;
        if (pulled === 100) controller.close();
        else controller.enqueue(new Uint8Array(512).fill(0x20));
      },
    });
    const request = post(path, large);
    expect(request.headers.get("content-length")).toBeNull();
    await failure(await app.handle(request), 413, "payload_too_large");
    expect(pulled).toBeLessThan(20);
  });
});

test("a long value is not repeated as a whole", async () => {
  const response = await testApp().post("/v1/embeddings", {
    model: "vectors",
    input: "a",
    encoding_format: "x".repeat(10_000),
  });
  expect(response.status).toBe(400);
  expect((await response.text()).length).toBeLessThan(500);
});

describe("an address", () => {
  test.each([
    "/v1",
    "/v1/edits",
    "/chat/completions",
    "/v1/models/a/b",
    "/docs/nothing.js",
    "/docs/constructor",
  ])("that is not there is a 404: %s", async (path) => {
    await failure(await testApp().get(path), 404, "unknown_url");
  });

  test.each([
    ["GET", "/v1/chat/completions", "POST"],
    ["DELETE", "/v1/embeddings", "POST"],
    ["PUT", "/v1/retrieve", "POST"],
    ["PATCH", "/v1/models", "GET, POST"],
    ["POST", "/v1/models/chatty", "DELETE, GET"],
    ["PUT", "/v1/info", "GET, POST"],
    ["POST", "/health", "GET"],
  ])("that has other methods is a 405 that allows them: %s %s", async (method, path, allowed) => {
    const response = await testApp().handle(new Request(`http://localhost${path}`, { method }));
    expect(response.headers.get("allow")).toBe(allowed);
    expect(await failure(response, 405, "method_not_allowed")).toContain(path);
  });
});

describe("every answer's x-request-id", () => {
  const answers: [string, (app: TestApp, headers: Record<string, string>) => Promise<Response>][] =
    [
      [
        "200",
        (app, headers) => app.post("/v1/embeddings", { model: "vectors", input: "a" }, headers),
      ],
      [
        "200 of a page",
        (app, headers) => app.handle(new Request("http://localhost/docs", { headers })),
      ],
      ["400", (app, headers) => app.post("/v1/retrieve", "{", headers)],
      ["404", (app, headers) => app.post("/nowhere", {}, headers)],
      ["405", (app, headers) => app.post("/health", {}, headers)],
      ["500", (app, headers) => app.post("/v1/embeddings", { model: "x", input: "a" }, headers)],
    ];

  test.each(answers)("is the caller's own where it is usable: %s", async (_, ask) => {
    const response = await ask(testApp(), { "x-request-id": "trace-1" });
    expect(response.headers.get("x-request-id")).toBe("trace-1");
  });

  test.each(answers)("is a new one where the caller's is not: %s", async (_, ask) => {
    const response = await ask(testApp(), { "x-request-id": "two words" });
    expect(response.headers.get("x-request-id")).toMatch(/^req_[0-9a-f-]{36}$/);
  });
});

describe("a node with keys", () => {
  const app = () => testApp({ keys: ["first-good-key", "second-good-key"] });

  test.each(secured)("refuses a missing and a wrong key: %s", async (path, body) => {
    for (const headers of [{}, { authorization: "Bearer wrong-key" }]) {
      const asked = app();
      const response = await asked.post(path, body, headers);
      expect(response.headers.get("www-authenticate")).toBe("Bearer");
      expect(response.headers.get("x-should-retry")).toBe("false");
      expect(await failure(response, 401, "invalid_api_key")).not.toContain("wrong-key");
      expect([asked.chat.requests, asked.embedding.requests]).toEqual([[], []]);
    }
  });

  test.each(secured)("refuses it before it reads the body: %s", async (path) => {
    expect((await app().post(path, "{")).status).toBe(401);
  });

  test.each(secured)("lets in each of its keys: %s", async (path, body) => {
    for (const key of ["first-good-key", "second-good-key"]) {
      const asked = app();
      asked.chat.script(finish);
      const response = await asked.post(path, body, { authorization: `Bearer ${key}` });
      expect(response.status).toBe(200);
    }
  });

  test.each(["/v1/models", "/v1/info"])("leaves %s open", async (path) => {
    expect((await app().post(path, {})).status).toBe(200);
    expect((await app().get(path)).status).toBe(200);
  });
});
