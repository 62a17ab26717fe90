import { expect, test } from "bun:test";
import { isLoopback } from "../../../src/core/loopback.ts";

test.each(["localhost", "127.0.0.1", "127.8.9.10", "::1", "[::1]"])("%s is loopback", (host) => {
  expect(isLoopback(host)).toBe(true);
});

test.each(["0.0.0.0", "::", "10.0.0.1", "127.0.0.1.example.org", "localhost.example.org", ""])(
  "%s is not loopback",
  (host) => {
    expect(isLoopback(host)).toBe(false);
  },
);
