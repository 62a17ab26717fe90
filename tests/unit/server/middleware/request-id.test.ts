import { describe, expect, test } from "bun:test";
import { requestId, requestIdHeader } from "../../../../src/server/middleware/request-id.ts";

const idFor = (offered?: string): string =>
  requestId(
    new Request("http://localhost/", {
      headers: offered === undefined ? {} : { [requestIdHeader]: offered },
    }),
  );

const made = /^req_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

describe("a request's id", () => {
  test.each(["a", "Trace-1.2_3", "x".repeat(128)])("is the caller's own: %s", (offered) => {
    expect(idFor(offered)).toBe(offered);
  });

  test.each([undefined, "", "two words", "a;b", '{"a":1}', "<b>", "é", "x".repeat(129)])(
    "is a new one where the caller's is missing or of no use: %s",
    (offered) => {
      expect(idFor(offered)).toMatch(made);
    },
  );

  test("is new each time", () => {
    expect(idFor()).not.toBe(idFor());
  });
});
