import { expect, test } from "bun:test";
import { mcpUrlOf } from "../../../src/cli/mcp.ts";

test.each([
  ["http://127.0.0.1:8080", "http://127.0.0.1:8080/mcp"],
  ["http://127.0.0.1:8080/", "http://127.0.0.1:8080/mcp"],
  ["http://127.0.0.1:8080/v1", "http://127.0.0.1:8080/mcp"],
  ["http://127.0.0.1:8080/mcp/", "http://127.0.0.1:8080/mcp"],
  ["https://host.example/paddock", "https://host.example/paddock/mcp"],
])("%s is asked at %s", (url, asked) => {
  expect(mcpUrlOf(url)).toBe(asked);
});

test.each(["127.0.0.1:8080", "ftp://host", "http://user:secret@host"])("refuses %s", (url) => {
  expect(() => mcpUrlOf(url)).toThrow();
});
