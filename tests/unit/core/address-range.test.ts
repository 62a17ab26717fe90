import { expect, test } from "bun:test";
import { isLoopback, parseRange } from "../../../src/core/address-range.ts";

test.each([
  ["192.0.2.7", "192.0.2.7", true],
  ["192.0.2.7", "192.0.2.8", false],
  ["192.0.2.7", "::ffff:192.0.2.7", true],
  ["10.0.0.0/8", "10.255.0.1", true],
  ["10.0.0.0/8", "11.0.0.1", false],
  ["10.0.0.0/8", "::a00:1", false],
  ["0.0.0.0/0", "203.0.113.9", true],
  ["0.0.0.0/0", "2001:db8::1", false],
  ["fd00::/8", "fd12:3456::9%eth0", true],
  ["fd00::/8", "2001:db8::1", false],
  ["2001:db8::1", "2001:DB8:0:0::0001", true],
  ["::/0", "2001:db8::1", true],
  ["10.0.0.0/8", "10.0.0.1:80", false],
  ["10.0.0.0/8", "unknown", false],
  ["10.0.0.0/8", "", false],
])("of %s is %s: %p", (range, address, isIn) => {
  expect(parseRange(range)?.(address)).toBe(isIn);
});

test.each([
  "",
  "10.0.0.0/33",
  "10.0.0.0/",
  "10.0.0.0/-1",
  "10.0.0.0/x",
  "10.0.0",
  "10.0.0.256",
  "proxy",
  "::1/129",
  "1:2",
  "/8",
])("%p is no range", (text) => {
  expect(parseRange(text)).toBeUndefined();
});

test.each(["localhost", "127.0.0.1", "127.8.9.10", "::1", "[::1]"])("%s is loopback", (host) => {
  expect(isLoopback(host)).toBe(true);
});

test.each(["0.0.0.0", "::", "10.0.0.1", "127.0.0.1.example.org", "localhost.example.org", ""])(
  "%s is not loopback",
  (host) => {
    expect(isLoopback(host)).toBe(false);
  },
);
