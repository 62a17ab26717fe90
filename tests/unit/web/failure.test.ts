import { describe, expect, test } from "bun:test";
import { ApiError, statusError } from "../../../src/client/api-error.ts";
import { Failure, failureOf } from "../../../src/web/failure.ts";

const said = { error: { message: "The node's words.", code: null } };

describe("a status becomes a sentence", () => {
  test.each([
    [401, {}, said, "The node's words.", true],
    [403, {}, said, "Your key does not allow this. The node's words.", false],
    [403, {}, { error: { message: "No keys.", code: "keys_required" } }, "No keys.", false],
    [
      429,
      { "retry-after": "1" },
      said,
      "That was too much at once. Wait 1 second, then retry.",
      true,
    ],
    [
      429,
      { "x-should-retry": "false" },
      { error: { message: "The quota is used up.", code: "insufficient_quota" } },
      "The quota is used up.",
      false,
    ],
    [429, {}, said, "That was too much at once. Wait a moment, then retry.", true],
    [503, {}, said, "The node is not ready for this. The node's words.", true],
    [
      503,
      { "retry-after": "5" },
      { error: { message: "Full.", code: "queue_full" } },
      "The node is busy: too many requests wait already. Retry in 5 seconds.",
      true,
    ],
    [400, {}, said, "The node's words.", false],
    [500, {}, said, "The node's words.", true],
    [500, { "x-should-retry": "false" }, said, "The node's words.", false],
    [502, {}, "<html>Bad gateway</html>", "The node answered with status 502.", true],
    [500, {}, {}, "The node answered with status 500.", true],
  ])("%d %j", async (status, headers, body, message, canRetry) => {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const error = await statusError(new Response(text, { status, headers }));
    const failure = failureOf(error);
    expect([failure.message, failure.canRetry, error.status]).toEqual([message, canRetry, status]);
  });
});

describe("what has no status becomes a sentence", () => {
  test.each([
    ["unreachable", "The node cannot be reached."],
    ["stream_interrupted", "The answer broke off before its end"],
    ["stream_error", "Its words."],
    ["not_json", "The page failed: Its words."],
  ] as const)("%s", (kind, start) => {
    const { message, canRetry } = failureOf(new ApiError(kind, "Its words."));
    expect([message.slice(0, start.length), canRetry]).toEqual([start, true]);
  });
});

test("what was not foreseen is a failure of the page, which says so", () => {
  const known = new Failure("Known.", false);
  expect(failureOf(known)).toBe(known);
  expect(failureOf(new TypeError("x is undefined")).message).toBe(
    "The page failed: x is undefined",
  );
});
