import { describe, expect, test } from "bun:test";
import { choiceOf, notBegun, testReplicas, urlsOf } from "../../../support/replica-set.ts";

const prefixes = Array.from({ length: 300 }, (_, at) => `talk ${at}`);

describe("replicas that come and go", () => {
  test("what is in progress at one that goes comes to its end, and nothing new goes there", async () => {
    const { set, begin, ask, events } = testReplicas(urlsOf("a", "b"));
    const before = await begin({ prefix: "talk" });
    const left = before.url;
    set.update(urlsOf("a", "b").filter((url) => url !== left));
    expect(events.at(-1)).toEqual({ type: "removed", url: left });
    expect(set.urls()).not.toContain(left);
    for (const prefix of prefixes) expect(await ask({ prefix })).not.toBe(left);
    before.failed("broken off");
    before[Symbol.dispose]();
    expect(events.filter(({ type }) => type === "failed")).toEqual([]);
  });

  test("a request that one had not begun when it went is answered by another, and not counted there", async () => {
    const { set, events } = testReplicas(urlsOf("a", "b"));
    const answered = await set.attempt(choiceOf(), async (lease) => {
      using _ = lease;
      const { url } = lease;
      if (url === "http://b/v1") return url;
      set.update(urlsOf("b"));
      lease.failed("it is gone");
      throw notBegun("it is gone");
    });
    expect(answered).toBe("http://b/v1");
    expect(events).toEqual([
      { type: "asked", url: "http://a/v1" },
      { type: "removed", url: "http://a/v1" },
      { type: "asked", url: "http://b/v1" },
    ]);
  });

  test("one that comes gets one request first, and its share of the conversations then", async () => {
    const { set, ask, begin, states } = testReplicas(urlsOf("a", "b", "c"));
    const before: string[] = [];
    for (const prefix of prefixes) before.push(await ask({ prefix }));
    set.update(urlsOf("a", "b", "c", "d"));
    expect(states()).toEqual(["up", "up", "up", "trial"]);
    const after: string[] = [];
    for (const prefix of prefixes) after.push(await ask({ prefix }));
    const moved = after.filter((url, at) => url !== before[at]);
    expect(new Set(moved)).toEqual(new Set(urlsOf("d")));
    expect(moved.length / prefixes.length).toBeLessThan(1 / 4 + 0.08);
    expect(moved.length).toBeGreaterThan(0);
    const leases = [];
    for (let count = 0; count < 40; count++) leases.push(await begin());
    expect(set.status().map(({ inFlight }) => inFlight)).toEqual([10, 10, 10, 10]);
  });

  test("those that stay keep what is known of them", async () => {
    const { set, askAround, states } = testReplicas(urlsOf("a", "b"));
    await askAround(urlsOf("a"));
    set.update(urlsOf("a", "b", "c"));
    expect(states()).toEqual(["out", "up", "trial"]);
  });

  test("where all are replaced the new ones take what comes", async () => {
    const { set, begin } = testReplicas(urlsOf("a", "b"));
    set.update(urlsOf("c", "d"));
    const leases = [];
    for (let count = 0; count < 6; count++) leases.push(await begin());
    expect(set.status().map(({ inFlight }) => inFlight)).toEqual([3, 3]);
  });

  test("one that went while it was out is not asked any more", async () => {
    const asked: string[] = [];
    const { set, clock, askAround } = testReplicas(urlsOf("a", "b"), {
      probe: async (url) => void asked.push(url),
    });
    await askAround(urlsOf("a"));
    set.update(urlsOf("b"));
    await clock.pass(60_000);
    expect(asked).toEqual([]);
  });

  test("nobody is asked any more after the set is disposed of", async () => {
    const asked: string[] = [];
    const { set, clock, askAround } = testReplicas(urlsOf("a", "b"), {
      probe: async (url) => void asked.push(url),
    });
    await askAround(urlsOf("a"));
    set[Symbol.dispose]();
    await clock.pass(60_000);
    expect(asked).toEqual([]);
  });
});
