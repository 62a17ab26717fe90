import { describe, expect, test } from "bun:test";
import { decodeError } from "../support/decode.ts";
import { type TestApp, type TestAppOptions, testApp } from "../support/test-app.ts";

const right = "key-of-ada";

describe("an address that sends wrong keys", () => {
  const appWith = (options: TestAppOptions = {}) =>
    testApp({ keys: [right, "key-of-bob"], ...options });
  const ask = async (app: TestApp, address: string, key?: string, path = "/v1/files") => {
    const headers: Record<string, string> = key === undefined ? {} : { "x-api-key": key };
    const request = new Request(`http://localhost${path}`, { headers });
    app.connections.opened(request, { address, onIdle: () => {} });
    return await app.handle(request);
  };
  const statusOf = async (...asked: Parameters<typeof ask>) => (await ask(...asked)).status;
  let guesses = 0;
  const guess = async (app: TestApp, address: string, times: number) => {
    const statuses: number[] = [];
    for (let at = 0; at < times; at++) {
      statuses.push(await statusOf(app, address, `guess-${guesses++}`));
    }
    return statuses;
  };

  test("has no more of them looked at for a while, and the log says so", async () => {
    let now = 0;
    const app = appWith({ now: () => now });
    expect(new Set(await guess(app, "192.0.2.1", 30))).toEqual(new Set([401]));
    const refused = await ask(app, "192.0.2.1", right);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "2"]);
    expect((await decodeError(refused)).message).toContain("wrong keys");
    expect(await guess(app, "192.0.2.1", 3)).toEqual([429, 429, 429]);
    expect(app.log.filter(({ level }) => level === "warn")).toMatchObject([
      { message: expect.stringContaining("wrong keys"), fields: { client: "192.0.2.1" } },
    ]);
    now += 2000;
    expect(await guess(app, "192.0.2.1", 2)).toEqual([401, 429]);
    now += 2000;
    expect(await statusOf(app, "192.0.2.1", right)).toBe(200);
    expect(app.log.filter(({ level }) => level === "warn").length).toBe(1);
  });

  test("is served with keys that worked from there before, and others are served as always", async () => {
    const app = appWith();
    expect(await statusOf(app, "192.0.2.1", right)).toBe(200);
    await guess(app, "192.0.2.1", 40);
    expect(await statusOf(app, "192.0.2.1", right)).toBe(200);
    expect(await statusOf(app, "192.0.2.1", "key-of-bob")).toBe(429);
    expect(await statusOf(app, "192.0.2.2", "key-of-bob")).toBe(200);
  });

  test("does not guess where it sends its old key again and again", async () => {
    const app = appWith();
    for (let at = 0; at < 40; at++) {
      expect(await statusOf(app, "192.0.2.1", "key-of-last-year")).toBe(401);
    }
    expect(await statusOf(app, "192.0.2.1", right)).toBe(200);
  });

  test("may ask without a key, and for health, as before", async () => {
    const app = appWith();
    await guess(app, "192.0.2.1", 40);
    expect(await statusOf(app, "192.0.2.1")).toBe(401);
    expect(await statusOf(app, "192.0.2.1", "wrong", "/ready")).toBe(200);
    expect(await statusOf(app, "192.0.2.1", "wrong", "/health")).toBe(200);
  });

  test("is told apart by its network where it is one of IPv6, and loopback is not counted", async () => {
    const app = appWith();
    await guess(app, "2001:db8:1:2::1", 30);
    expect(await statusOf(app, "2001:db8:1:2::ffff", right)).toBe(429);
    await guess(app, "127.0.0.1", 40);
    expect(await statusOf(app, "127.0.0.1", right)).toBe(200);
  });
});
