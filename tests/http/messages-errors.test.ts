import { describe, expect, test } from "bun:test";
import { NodeError } from "../../src/core/errors.ts";
import { ErrorBody } from "../../src/server/operations/messages/answer-schema.ts";
import { decode } from "../support/decode.ts";
import { finish } from "../support/scripted-engines.ts";
import { testApp } from "../support/test-app.ts";

const body = { model: "chatty", max_tokens: 8, messages: [{ role: "user", content: "Hello" }] };

/** Checks the whole error, and returns its message. */
async function failure(response: Response, status: number, type: string): Promise<string> {
  const answer = await decode(ErrorBody, response);
  expect(response.status).toBe(status);
  expect(answer).toEqual({
    type: "error",
    error: { type, message: expect.any(String) },
    request_id: expect.stringMatching(/^req_/),
  });
  expect(response.headers.get("request-id")).toBe(answer.request_id);
  return answer.error.message;
}

const send = (path: string, init: RequestInit): Request =>
  new Request(`http://localhost${path}`, {
    method: "POST",
    ...init,
    headers: { "content-type": "application/json", ...init.headers },
  });

describe.each(["/v1/messages", "/v1/messages/count_tokens"])("an error of %s", (path) => {
  test("without a key", async () => {
    const app = testApp({ keys: ["a-key"] });
    await failure(await app.post(path, body), 401, "authentication_error");
    const wrong = await app.post(path, body, { "x-api-key": "another" });
    expect(await failure(wrong, 401, "authentication_error")).toContain("x-api-key");
  });

  test("for another method", async () => {
    const response = await testApp().get(path);
    expect(await failure(response, 405, "invalid_request_error")).toContain("use POST");
    expect(response.headers.get("allow")).toBe("POST");
  });

  test.each<[string, RequestInit, number, string]>([
    ["that is malformed", { body: "{" }, 400, "invalid_request_error"],
    ["that is empty", { body: "" }, 400, "invalid_request_error"],
    [
      "that is no JSON",
      { body: "a=b", headers: { "content-type": "text/plain" } },
      415,
      "invalid_request_error",
    ],
    ["that is too large", { body: "x".repeat(2000) }, 413, "request_too_large"],
  ])("for a body %s", async (_, init, status, type) => {
    const app = testApp({ maxBodyBytes: 1024 });
    await failure(await app.handle(send(path, init)), status, type);
  });

  test("for a field, which is named", async () => {
    const app = testApp({ maxMessages: 2 });
    const missing = await app.post(path, { ...body, messages: undefined });
    expect(await failure(missing, 400, "invalid_request_error")).toStartWith("'messages' is");
    const long = await app.post(path, { ...body, messages: Array(3).fill(body.messages[0]) });
    expect(await failure(long, 400, "invalid_request_error")).toContain("limits.max_messages");
  });

  test("for a model that is not on the node, whose chat models it lists", async () => {
    const response = await testApp().post(path, { ...body, model: "claude-opus-5-5" });
    expect(await failure(response, 404, "not_found_error")).toBe(
      "The model 'claude-opus-5-5' is not on this node. The chat models of this node are: chatty.",
    );
    expect(response.headers.get("x-should-retry")).toBe("false");
  });

  test("for a model that is not ready", async () => {
    const response = await testApp({ unprepared: true }).post(path, body);
    await failure(response, 529, "overloaded_error");
    expect(response.headers.get("retry-after")).toBe("2");
  });

  test("while the node stops", async () => {
    await failure(await testApp({ draining: true }).post(path, body), 503, "api_error");
  });

  test("for another host", async () => {
    const app = testApp({ allowedHosts: ["node.example"] });
    const response = await app.handle(
      new Request(`http://evil.example${path}`, {
        method: "POST",
        headers: { host: "evil.example" },
        body: "{}",
      }),
    );
    await failure(response, 403, "permission_error");
  });

  test("at a limit, with what is left in Anthropic's headers", async () => {
    const app = testApp({ callerLimits: { requestsPerMinute: 1 }, now: () => 0 });
    app.chat.script(finish);
    const first = await app.post(path, body);
    expect(first.status).toBe(200);
    expect(first.headers.get("anthropic-ratelimit-requests-limit")).toBe("1");
    const second = await app.post(path, body);
    await failure(second, 429, "rate_limit_error");
    expect(second.headers.get("anthropic-ratelimit-requests-remaining")).toBe("0");
    expect(second.headers.get("anthropic-ratelimit-requests-reset")).toMatch(/^\d{4}-.*Z$/);
    expect(Number(second.headers.get("retry-after"))).toBeGreaterThan(0);
  });
});

describe("an error of the engine", () => {
  test.each([
    ["context_length_exceeded", 400, "invalid_request_error"],
    ["overloaded", 529, "overloaded_error"],
    ["timeout", 504, "timeout_error"],
    ["unavailable", 503, "api_error"],
    ["upstream_failed", 502, "api_error"],
    ["upstream_refused", 502, "api_error"],
  ] as const)("%s is a %i of type %s", async (kind, status, type) => {
    const app = testApp();
    app.chat.script(new NodeError(kind, "Because."));
    const message = await failure(await app.post("/v1/messages", body), status, type);
    expect(message).toBe(
      kind === "context_length_exceeded" ? "prompt is too long: Because." : "Because.",
    );
  });

  test("that was not foreseen says nothing of its inside", async () => {
    const app = testApp();
    app.chat.script(new Error("secret"));
    const response = await app.post("/v1/messages", body);
    expect(await failure(response, 500, "api_error")).not.toContain("secret");
  });

  test("names a field as the caller called it", async () => {
    const app = testApp();
    const subject = { part: "tools", at: 0 } as const;
    app.chat.script(new NodeError("invalid_request", "The schema is odd.", { subject }));
    const response = await app.post("/v1/messages", body);
    expect(await failure(response, 400, "invalid_request_error")).toBe(
      "tools[0].input_schema: The schema is odd.",
    );
  });
});

test("an unknown address keeps the node's own error", async () => {
  const response = await testApp().post("/v1/messages/batches", {});
  expect(response.status).toBe(404);
  expect(await response.json()).toMatchObject({ error: { code: "unknown_url" } });
});

test("a key may be sent as Anthropic's clients do, from a page too", async () => {
  const app = testApp({ keys: ["a-key"], corsOrigins: ["http://page.example"] });
  app.chat.script(finish);
  const response = await app.post("/v1/messages", body, {
    "x-api-key": "a-key",
    origin: "http://page.example",
  });
  expect(response.status).toBe(200);
  const exposed = response.headers.get("access-control-expose-headers")?.split(", ");
  expect(exposed).toContain("request-id");
  expect(exposed).toContain("anthropic-ratelimit-tokens-reset");
  const preflight = await app.handle(
    new Request("http://localhost/v1/messages", {
      method: "OPTIONS",
      headers: {
        origin: "http://page.example",
        "access-control-request-method": "POST",
        "access-control-request-headers":
          "x-api-key,anthropic-version,anthropic-beta,anthropic-dangerous-direct-browser-access",
      },
    }),
  );
  const allowed = preflight.headers.get("access-control-allow-headers")?.split(", ");
  expect(allowed).toContain("x-api-key");
  expect(allowed).toContain("anthropic-version");
});
