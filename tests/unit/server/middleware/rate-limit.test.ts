import { expect, test } from "bun:test";
import { formatReset, rateLimitHeaders } from "../../../../src/server/middleware/rate-limit.ts";

test.each([
  [0, "0ms"],
  [249.2, "250ms"],
  [1000, "1s"],
  [1001, "2s"],
  [59_001, "1m0s"],
  [360_000, "6m0s"],
  [3_725_000, "62m5s"],
])("a reset in %d ms reads %s", (ms, text) => {
  expect(formatReset(ms)).toBe(text);
});

test("each bound has its three headers", () => {
  expect(rateLimitHeaders("tokens", { limit: 60, remaining: 1, resetMs: 59_000 })).toEqual({
    "x-ratelimit-limit-tokens": "60",
    "x-ratelimit-remaining-tokens": "1",
    "x-ratelimit-reset-tokens": "59s",
  });
});
