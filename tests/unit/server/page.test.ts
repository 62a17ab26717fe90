import { expect, test } from "bun:test";
import { pageHeaders } from "../../../src/server/page.ts";

const policyOf = (headers: Record<string, string>): string[] =>
  headers["content-security-policy"]?.split("; ") ?? [];

test("every page lets in nothing from elsewhere, is framed by nobody and sends no referrer", () => {
  const headers = pageHeaders();
  expect(policyOf(headers)).toEqual([
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ]);
  expect(headers).toMatchObject({
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
  });
});

test("a page can have directives of its own, beside these or instead of them", () => {
  const policy = policyOf(
    pageHeaders({ "style-src": "'self' 'unsafe-inline'", "trusted-types": "'none'" }),
  );
  expect(policy).toContain("style-src 'self' 'unsafe-inline'");
  expect(policy).not.toContain("style-src 'self'");
  expect(policy.at(-1)).toBe("trusted-types 'none'");
});
