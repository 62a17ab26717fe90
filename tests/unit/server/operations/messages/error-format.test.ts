import { expect, test } from "bun:test";
import {
  ignoredHeaders,
  messageHeaders,
} from "../../../../../src/server/operations/messages/error-format.ts";

const ignored = (headers: Record<string, string>) => ignoredHeaders(new Headers(headers));

test("headers that ask for nothing else are acted on", () => {
  expect(ignored({})).toEqual([]);
  expect(ignored({ "anthropic-version": "2023-06-01" })).toEqual([]);
  expect(
    ignored({
      "anthropic-version": "2026-10-21",
      "anthropic-beta": "prompt-caching-2024-07-31, structured-outputs-2025-11-13,",
    }),
  ).toEqual([]);
});

test("other versions and betas are named", () => {
  expect(
    ignored({
      "anthropic-version": "2023-01-01",
      "anthropic-beta": "token-counting-2024-11-01,context-1m-2025-08-07, mcp-client-2025-11-20",
    }),
  ).toEqual([
    "anthropic-version",
    "anthropic-beta.context-1m-2025-08-07",
    "anthropic-beta.mcp-client-2025-11-20",
  ]);
});

test("what a caller has left is told with the moment when all of it is there again", () => {
  const before = Date.now();
  const headers = messageHeaders.rateLimit("requests", { limit: 60, remaining: 59, resetMs: 1000 });
  expect(headers).toEqual({
    "anthropic-ratelimit-requests-limit": "60",
    "anthropic-ratelimit-requests-remaining": "59",
    "anthropic-ratelimit-requests-reset": expect.stringMatching(
      /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/,
    ),
  });
  const reset = Date.parse(headers["anthropic-ratelimit-requests-reset"] ?? "");
  expect(reset).toBeGreaterThanOrEqual(before + 1000);
  expect(reset).toBeLessThan(Date.now() + 2001);
});
