import { describe, expect, test } from "bun:test";
import { type ErrorKind, errorKinds, NodeError } from "../../../../src/core/errors.ts";
import {
  answerError,
  errorBody,
  errorResponse,
  redactPaths,
  toNodeError,
} from "../../../../src/server/middleware/errors.ts";
import { chatNames } from "../../../../src/server/wire/field-names.ts";

const invalid = "invalid_request_error";
const expected: Record<ErrorKind, { status: number; type: string; code: string | null }> = {
  invalid_request: { status: 400, type: invalid, code: null },
  context_length_exceeded: { status: 400, type: invalid, code: "context_length_exceeded" },
  unauthenticated: { status: 401, type: invalid, code: "invalid_api_key" },
  forbidden: { status: 403, type: "invalid_request_error", code: "insufficient_permissions" },
  unknown_host: { status: 403, type: invalid, code: "unknown_host" },
  keys_required: { status: 403, type: invalid, code: "keys_required" },
  not_found: { status: 404, type: invalid, code: "unknown_url" },
  no_such_object: { status: 404, type: invalid, code: null },
  method_not_allowed: { status: 405, type: invalid, code: "method_not_allowed" },
  payload_too_large: { status: 413, type: invalid, code: "payload_too_large" },
  body_timeout: { status: 408, type: invalid, code: "body_timeout" },
  client_stalled: { status: 408, type: invalid, code: "client_stalled" },
  too_many_requests: { status: 429, type: "requests", code: "rate_limit_exceeded" },
  too_many_tokens: { status: 429, type: "tokens", code: "rate_limit_exceeded" },
  quota_exceeded: { status: 429, type: "insufficient_quota", code: "insufficient_quota" },
  unsupported_media_type: { status: 415, type: invalid, code: "unsupported_media_type" },
  model_not_found: { status: 404, type: invalid, code: "model_not_found" },
  model_not_ready: { status: 503, type: "server_error", code: "model_not_ready" },
  overloaded: { status: 503, type: "server_error", code: "queue_full" },
  timeout: { status: 504, type: "server_error", code: "request_timeout" },
  collection_mismatch: { status: 503, type: "server_error", code: "collection_mismatch" },
  unavailable: { status: 503, type: "server_error", code: "unavailable" },
  upstream_failed: { status: 502, type: "server_error", code: "upstream_failed" },
  upstream_refused: { status: 502, type: "server_error", code: "upstream_refused" },
  internal: { status: 500, type: "server_error", code: "internal_error" },
};

describe("an error on the wire", () => {
  test.each(errorKinds)("has a status and a complete body: %s", async (kind) => {
    const response = errorResponse(new NodeError(kind, "Why.", { param: "messages[0]" }));
    const { status, type, code } = expected[kind];
    expect(response.status).toBe(status);
    expect(response.headers.get("content-type")).toStartWith("application/json");
    expect(await response.json()).toEqual({
      error: { message: "Why.", type, param: "messages[0]", code },
    });
  });

  test("has a null param where no field is at fault", () => {
    expect(errorBody(new NodeError("not_found", "Why."))).toEqual({
      error: { message: "Why.", type: invalid, param: null, code: "unknown_url" },
    });
  });

  test.each<[ErrorKind, string, string | null]>([
    ["unauthenticated", "www-authenticate", "Bearer"],
    ["unauthenticated", "x-should-retry", "false"],
    ["forbidden", "x-should-retry", "false"],
    ["unknown_host", "x-should-retry", "false"],
    ["keys_required", "x-should-retry", "false"],
    ["model_not_found", "x-should-retry", "false"],
    ["quota_exceeded", "x-should-retry", "false"],
    ["model_not_ready", "retry-after", "2"],
    ["unavailable", "retry-after", "2"],
    ["body_timeout", "connection", "close"],
    ["too_many_requests", "retry-after", null],
    ["internal", "x-should-retry", null],
    ["upstream_failed", "x-should-retry", null],
    ["upstream_refused", "x-should-retry", "false"],
    ["invalid_request", "retry-after", null],
  ])("tells a client what to do next: %s, %s: %s", (kind, name, value) => {
    expect(errorResponse(new NodeError(kind, "Why.")).headers.get(name)).toBe(value);
  });

  test("says in whole seconds when to ask again, never too early", () => {
    const error = new NodeError("too_many_tokens", "Why.", { retryAfterMs: 2001 });
    expect(errorResponse(error).headers.get("retry-after")).toBe("3");
  });

  test("keeps its own headers beside those it is given", () => {
    const context = { id: "req_1", errorFormat: undefined, fieldNames: chatNames };
    const error = new NodeError("unavailable", "Why.");
    const { headers } = answerError(error, context, { allow: "GET" });
    expect([headers.get("retry-after"), headers.get("allow")]).toEqual(["2", "GET"]);
  });
});

describe("a thrown value", () => {
  test("that is the domain's error stays itself", () => {
    const error = new NodeError("not_found", "Why.");
    expect(toNodeError(error)).toBe(error);
  });

  test.each([[new Error("secret inside")], ["secret inside"]])(
    "that nobody foresaw says nothing of its inside, and keeps its cause for the log",
    (thrown) => {
      const error = toNodeError(thrown);
      expect(error.kind).toBe("internal");
      expect(JSON.stringify(errorBody(error))).not.toContain("secret");
      expect(error.cause).toBe(thrown);
    },
  );
});

const hidden = "(a path on the node)";

test.each([
  ["Its file is /var/lib/paddock/a.sqlite; restore it.", `Its file is ${hidden}; restore it.`],
  ["The file is /mnt/my disk/data ü/keys.sqlite.", `The file is ${hidden}`],
  ["It is in /var/lib/a.sqlite. See https://x.org/a b", `It is in ${hidden} See https://x.org/a b`],
  ["open '/home/ada/my.gguf' failed", `open '${hidden}' failed`],
  ["The model file './gone.gguf' does not exist.", `The model file '${hidden}' does not exist.`],
  ["read ../models/a.gguf, then stop...", `read ${hidden}, then stop...`],
  ["(/qdrant/storage/x/0.bin)", `(${hidden})`],
  ["at C:\\Users\\ada\\model.gguf.", `at ${hidden}`],
  ["Qdrant at https://user:pa55@host:6333/x/y is away", "Qdrant at https://host:6333/x/y is away"],
  ["Qdrant at http://127.0.0.1:6333/a/b is away", "Qdrant at http://127.0.0.1:6333/a/b is away"],
  ["The model 'owner/name' takes text/plain and/or 1/2.", undefined],
])("a message without what is nobody's business: %s", (message, shown) => {
  expect(redactPaths(message)).toBe(shown ?? message);
});
