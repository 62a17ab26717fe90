import { describe, expect, test } from "bun:test";
import { NodeError } from "../../../src/core/errors.ts";
import { keyAccess } from "../../../src/http/auth.ts";

const keys = ["first-key-of-two", "second-key-of-two"];

function request(authorization?: string): Request {
  return new Request("http://localhost/", {
    headers: authorization === undefined ? {} : { authorization },
  });
}

function refusal(authorization?: string): NodeError {
  try {
    keyAccess(keys).check(request(authorization));
  } catch (error) {
    if (error instanceof NodeError) return error;
    throw error;
  }
  throw new Error("The request was let in");
}

describe("a node with keys", () => {
  test.each([
    "Bearer first-key-of-two",
    "Bearer second-key-of-two",
    "bearer second-key-of-two",
    "BEARER  second-key-of-two ",
  ])("lets in who carries one of them: '%s'", (authorization) => {
    expect(() => keyAccess(keys).check(request(authorization))).not.toThrow();
  });

  test.each([undefined, "", "Bearer", "Bearer ", "Basic first-key-of-two", "first-key-of-two"])(
    "says how to send a key to who carries none: '%s'",
    (authorization) => {
      const { kind, message } = refusal(authorization);
      expect(kind).toBe("unauthenticated");
      expect(message).toContain("Authorization: Bearer <key>");
    },
  );

  test.each([
    "first-key-of-tw",
    "first-key-of-two!",
    "FIRST-KEY-OF-TWO",
    "first-key-of-two,second-key-of-two",
    "unknown-key",
  ])("refuses a key that is not one of its own, without repeating any: %s", (key) => {
    const { kind, message } = refusal(`Bearer ${key}`);
    expect(kind).toBe("unauthenticated");
    expect(message).toContain("not one of this node's");
    for (const secret of [key, ...keys]) expect(message).not.toContain(secret);
  });

  test("refuses two keys in one header", () => {
    expect(refusal("Bearer first-key-of-two second-key-of-two").kind).toBe("unauthenticated");
  });
});

test.each([undefined, "Bearer anything"])(
  "a node without keys lets everyone in: '%s'",
  (header) => {
    expect(() => keyAccess([]).check(request(header))).not.toThrow();
  },
);
