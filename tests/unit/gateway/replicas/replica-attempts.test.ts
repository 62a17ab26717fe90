import { describe, expect, test } from "bun:test";
import { NodeError } from "../../../../src/core/errors.ts";
import { rejectionOf } from "../../../support/rejection.ts";
import { choiceOf, notBegun, testReplicas, urlsOf } from "../../../support/replica-set.ts";

const four = urlsOf("a", "b", "c", "d");

describe("an attempt", () => {
  test("is made with another replica where the first has not begun, and says so", async () => {
    const { askAround, events } = testReplicas(urlsOf("a", "b"));
    const { asked, error } = await askAround(urlsOf("a"));
    expect([asked, error]).toEqual([urlsOf("a", "b"), undefined]);
    expect(events).toEqual([
      { type: "asked", url: "http://a/v1" },
      { type: "failed", url: "http://a/v1", why: "connection refused" },
      { type: "given-on", url: "http://a/v1" },
      { type: "asked", url: "http://b/v1" },
    ]);
  });

  test("is given on at most twice, never to one that had it, and ends with the last reason", async () => {
    const { askAround } = testReplicas(four);
    const { asked, error } = await askAround(four, { prefix: "a talk" });
    expect(new Set(asked).size).toBe(3);
    expect(asked).toHaveLength(3);
    expect(error).toEqual(new NodeError("unavailable", `${asked[2]} is away`));
  });

  test("ends with the last reason where there is nobody else", async () => {
    const { askAround } = testReplicas(urlsOf("a"));
    expect(await askAround(urlsOf("a"))).toEqual({
      asked: urlsOf("a"),
      error: new NodeError("unavailable", "http://a/v1 is away"),
    });
  });

  test("is not given on where it has begun, or where the request itself is wrong", async () => {
    const { set } = testReplicas(four);
    const wrong = new NodeError("invalid_request", "'stop' is too long.", { param: "stop" });
    let times = 0;
    const error = await rejectionOf(
      set.attempt(choiceOf(), async (lease) => {
        times++;
        lease.succeeded();
        throw wrong;
      }),
    );
    expect([error, times]).toEqual([wrong, 1]);
    expect(set.status().map(({ inFlight, state }) => [inFlight, state])).toEqual(
      four.map(() => [0, "up"]),
    );
  });

  test("is not given on when the caller has left, and the replica is not blamed", async () => {
    const { set, states } = testReplicas(four);
    const left = new AbortController();
    let times = 0;
    const attempt = set.attempt(choiceOf({ signal: left.signal }), async () => {
      times++;
      left.abort(new Error("the client left"));
      throw notBegun("aborted");
    });
    expect(await rejectionOf(attempt)).toEqual(new Error("the client left"));
    expect([times, states()]).toEqual([1, four.map(() => "up")]);
  });

  test("is not made for a caller that has left", async () => {
    const { set } = testReplicas(four);
    const signal = AbortSignal.abort(new Error("the client left"));
    const asked = set.attempt(choiceOf({ signal }), () => Promise.reject(new Error("asked")));
    expect(await rejectionOf(asked)).toEqual(new Error("the client left"));
  });

  test("holds its place until its lease is disposed of, once", async () => {
    const { set, begin } = testReplicas(urlsOf("a"));
    const lease = await begin();
    expect(set.status()).toEqual([{ url: "http://a/v1", state: "up", inFlight: 1 }]);
    lease[Symbol.dispose]();
    lease[Symbol.dispose]();
    expect(set.status()).toEqual([{ url: "http://a/v1", state: "up", inFlight: 0 }]);
  });
});
