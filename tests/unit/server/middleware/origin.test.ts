import { describe, expect, test } from "bun:test";
import { checkHost } from "../../../../src/server/middleware/origin.ts";

const request = (host: string): Request => new Request("http://192.0.2.1/", { headers: { host } });

describe("the host of a request to loopback", () => {
  test.each([
    "localhost",
    "localhost:8080",
    "LOCALHOST:1",
    "localhost.",
    "node.localhost:8080",
    "127.0.0.1",
    "127.1.2.3:8080",
    "[::1]",
    "[::1]:8080",
  ])("may be this machine's: %s", (host) => {
    checkHost(request(host), []);
  });

  test.each([
    "evil.example",
    "evil.example:8080",
    "localhost.evil.example",
    "evillocalhost",
    "127.0.0.1.evil.example",
    "127.0.0.1@evil.example",
    "192.168.0.1",
    "[::2]",
    "::1",
    "",
  ])("may not be another's: '%s'", (host) => {
    expect(() => checkHost(request(host), ["node.example.org"])).toThrow(
      expect.objectContaining({
        kind: "unknown_host",
        message: expect.stringContaining("[http] allowed_hosts"),
      }),
    );
  });

  test.each(["node.example.org", "Node.Example.org:443", "node.example.org."])(
    "may be one that is allowed: %s",
    (host) => {
      checkHost(request(host), ["node.Example.org"]);
    },
  );

  test("is the address's where the request names none", () => {
    expect(() => checkHost(new Request("http://evil.example/"), [])).toThrow("'evil.example'");
    checkHost(new Request("http://localhost/"), []);
  });
});
