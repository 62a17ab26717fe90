import { expect, test } from "bun:test";
import { safeLink } from "../../../../src/web/markdown/safe-link.ts";

test.each([
  ["https://example.org/a?b#c", "https://example.org/a?b#c"],
  ["HTTP://EXAMPLE.ORG", "http://example.org/"],
  ["mailto:ada@example.org", "mailto:ada@example.org"],
])("%s may be followed", (href, address) => {
  expect(safeLink(href)).toBe(address);
});

test.each([
  "javascript:alert(1)",
  " JavaScript:alert(1)",
  "java\nscript:alert(1)",
  "\u0001javascript:alert(1)",
  "data:text/html,x",
  "vbscript:x",
  "file:///etc/passwd",
  "blob:https://example.org/1",
  "//example.org",
  "/v1/info",
  "#node",
  "",
])("%j may not", (href) => {
  expect(safeLink(href)).toBeUndefined();
});
