import { describe, expect, test } from "bun:test";
import { NodeError } from "../../../../src/core/errors.ts";
import type { ApiKey, KeyRing, Scope } from "../../../../src/core/limits/api-key.ts";
import { keyAccess } from "../../../../src/server/middleware/authentication.ts";

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

  test("lets in who carries one as clients of Anthropic's API do, and refuses a wrong one", () => {
    const check = (key: string) =>
      keyAccess(keys).check(new Request("http://localhost/", { headers: { "x-api-key": key } }));
    expect(check("second-key-of-two").name).toBe("key 2");
    expect(() => check("another-key")).toThrow("not one of this node's");
    expect(() => check(" ")).toThrow("x-api-key: <key>");
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

describe("keys that were given out", () => {
  const key: ApiKey = {
    id: "0123456789ab",
    name: "ada",
    scopes: ["chat", "embeddings"],
    limits: { concurrency: 2 },
    quota: {},
    createdAt: new Date(),
  };
  const ring = (held: ApiKey | undefined, has = true): KeyRing => ({
    hasKeys: () => has,
    find: (text) => (text === "pk_right" ? held : undefined),
    byId: () => held,
  });
  const caught = (held: ApiKey | undefined, ...wanted: Scope[]): unknown => {
    try {
      return keyAccess([], ring(held)).check(request("Bearer pk_right"), ...wanted);
    } catch (error) {
      return error;
    }
  };

  const holder = {
    id: "0123456789ab",
    name: "ada",
    called: "The key 'ada'",
    limits: { concurrency: 2 },
    quota: {},
  };

  test("let their holder in, by name, to what they open", () => {
    expect(caught(key, "chat")).toEqual(holder);
    expect(caught(key, "retrieve")).toMatchObject({
      kind: "forbidden",
      message: "The API key 'ada' does not open 'retrieve'; it opens 'chat', 'embeddings'.",
    });
  });

  test("end when they expire or are revoked", () => {
    const past = new Date(Date.now() - 1000);
    expect(caught({ ...key, expiresAt: past }, "chat")).toMatchObject({
      kind: "unauthenticated",
      message: expect.stringContaining("is expired"),
    });
    expect(caught({ ...key, revokedAt: past }, "chat")).toMatchObject({
      kind: "unauthenticated",
      message: expect.stringContaining("is revoked"),
    });
    expect(caught({ ...key, expiresAt: new Date(Date.now() + 60_000) }, "chat")).toEqual(holder);
  });

  test("close the node to those without, from the first on, and leave fixed keys alone", () => {
    const access = keyAccess([], ring(undefined));
    expect(() => access.check(request())).toThrow("An API key is needed");
    expect(() => access.check(request("Bearer pk_wrong"))).toThrow("not one of this node's");
    expect(keyAccess([], ring(undefined, false)).check(request()).id).toBeUndefined();
    const fixed = keyAccess(keys, ring(key)).check(request("Bearer first-key-of-two"), "chat");
    expect(fixed.name).toBe("key 1");
  });
});

describe("a key of the configuration", () => {
  const idOf = (key: string, ...keys: string[]) =>
    keyAccess(keys).check(request(`Bearer ${key}`)).id;

  test("is known by a digest of it, wherever it stands in the list", () => {
    const [ada, bob] = ["key-of-ada", "key-of-bob"];
    expect(idOf(bob, ada, bob)).toBe(idOf(bob, bob));
    expect(idOf(ada, ada, bob)).not.toBe(idOf(bob, bob));
    expect(idOf(bob, bob)).toMatch(/^configured [0-9a-f]{24}$/);
  });
});
