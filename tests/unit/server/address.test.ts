import { describe, expect, test } from "bun:test";
import { allowedMethods, missingRoute } from "../../../src/server/address.ts";

const routes = [
  { method: "POST", path: "/v1/models" },
  { method: "GET", path: "/v1/models" },
  { method: "get", path: "/v1/models/:id" },
  { method: "GET", path: "/v1/models/:name" },
];

describe("the methods of an address", () => {
  test.each([
    ["/v1/models", ["GET", "POST"]],
    ["/v1/models/tiny", ["GET"]],
    ["/v1/models/owner%2Ftiny", ["GET"]],
    ["/v1/models/owner/tiny", []],
    ["/v1", []],
    ["/v1/modelsx", []],
    ["/v2/models", []],
  ])("are those of the routes that match it: %s", (pathname, methods) => {
    expect(allowedMethods(routes, pathname)).toEqual(methods);
  });
});

test("a path of thousands of slashes costs no more than another", () => {
  const timeOf = (pathname: string): number => {
    const times = Array.from({ length: 20 }, () => {
      const from = performance.now();
      for (let times = 0; times < 50; times++) allowedMethods(routes, pathname);
      return performance.now() - from;
    });
    return Math.min(...times);
  };
  const length = 15_000;
  expect(timeOf("/".repeat(length))).toBeLessThan(20 * timeOf(`/${"a".repeat(length)}`) + 20);
});

describe("a request without a route", () => {
  const request = new Request("http://localhost/v1/models?key=secret", { method: "PATCH" });

  test("is of a wrong method where the address has others", () => {
    expect(missingRoute(request, ["GET", "POST"])).toMatchObject({
      kind: "method_not_allowed",
      message: "PATCH is not possible at /v1/models; use GET or POST.",
    });
  });

  test("is of an unknown address where it has none, and its query is not repeated", () => {
    expect(missingRoute(request, [])).toMatchObject({
      kind: "not_found",
      message: "There is nothing at PATCH /v1/models. The API is under /v1; /docs describes it.",
    });
  });
});
