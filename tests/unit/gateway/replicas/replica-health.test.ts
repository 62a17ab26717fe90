import { describe, expect, test } from "bun:test";
import { NodeError } from "../../../../src/core/errors.ts";
import { NotBegun } from "../../../../src/gateway/replicas/replica.ts";
import { untilAborted } from "../../../support/aborted.ts";
import { rejectionOf } from "../../../support/rejection.ts";
import { choiceOf, testReplicas, urlsOf } from "../../../support/replica-set.ts";

const two = urlsOf("a", "b");
const [a = "", b = ""] = two;

/** A probe that answers as it is told, and counts. */
function scriptedProbe() {
  const asked: string[] = [];
  const away = new Set<string>();
  return {
    asked,
    away,
    probe: async (url: string) => {
      asked.push(url);
      if (away.has(url)) throw new Error("connection refused");
    },
  };
}

describe("a replica that failed", () => {
  test("is left alone, then asked how it is, then tried by one request, then has its share again", async () => {
    const { probe, asked } = scriptedProbe();
    const { set, clock, askAround, ask, begin, states } = testReplicas(two, { probe });
    await askAround([a]);
    expect(states()).toEqual(["out", "up"]);
    expect([await ask(), await ask(), await ask()]).toEqual([b, b, b]);
    await clock.pass(999);
    expect(asked).toEqual([]);
    await clock.pass(1);
    expect([asked, states()]).toEqual([[a], ["trial", "up"]]);
    const { promise, resolve } = Promise.withResolvers<void>();
    const trial = set.attempt(choiceOf(), async (lease) => {
      using _ = lease;
      await promise;
      lease.succeeded();
      return lease.url;
    });
    using _busy = await begin();
    expect(set.status().map(({ inFlight }) => inFlight)).toEqual([1, 1]);
    expect([await ask(), await ask()]).toEqual([b, b]);
    resolve();
    expect(await trial).toBe(a);
    expect([states(), await ask()]).toEqual([["up", "up"], a]);
  });

  test("is asked ever later while it does not answer", async () => {
    const { probe, asked, away } = scriptedProbe();
    const { clock, askAround, states } = testReplicas(two, { probe });
    away.add(a);
    await askAround([a]);
    const counts = [];
    for (const ms of [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]) {
      await clock.pass(ms - 1);
      counts.push(asked.length);
      await clock.pass(1);
    }
    expect([counts, asked.length, states()]).toEqual([[0, 1, 2, 3, 4, 5, 6], 7, ["out", "up"]]);
    away.clear();
    await clock.pass(30_000);
    expect(states()).toEqual(["trial", "up"]);
  });

  test("is left alone for longer where it answers questions and fails requests", async () => {
    const { probe } = scriptedProbe();
    const { clock, askAround, lines } = testReplicas(two, { probe });
    await askAround([a]);
    await clock.pass(1000);
    expect((await askAround([a])).asked).toEqual([a, b]);
    expect(lines.map(({ level, fields }) => [level, fields.seconds])).toEqual([
      ["warn", 1],
      ["debug", 2],
    ]);
  });

  test("is tried by a request after its pause where nobody asks it", async () => {
    const { clock, askAround, states } = testReplicas(two);
    await askAround([a]);
    await clock.pass(1000);
    expect(states()).toEqual(["trial", "up"]);
  });

  test("does not keep its trial where the caller leaves before an answer", async () => {
    const { set, clock, askAround, ask, states } = testReplicas(two);
    await askAround([a]);
    await clock.pass(1000);
    await set
      .attempt(choiceOf(), () => Promise.reject(new Error("the client left")))
      .catch(() => {});
    expect(states()).toEqual(["trial", "up"]);
    expect([await ask(), await ask()].toSorted()).toEqual(two);
  });

  test("is not waited for longer than five seconds when it is asked", async () => {
    const { clock, askAround, events } = testReplicas(two, {
      probe: (_, signal) => untilAborted(signal),
    });
    await askAround([a]);
    await clock.pass(1000);
    await clock.pass(5000);
    expect(events.at(-1)).toEqual({ type: "failed", url: a, why: "no answer within 5 s" });
  });

  test("has its failure and its return said in the log, once each", async () => {
    const { probe, away } = scriptedProbe();
    const { clock, askAround, ask, lines } = testReplicas(two, { probe });
    away.add(a);
    await askAround([a]);
    await clock.pass(10_000);
    away.clear();
    await clock.pass(10_000);
    await ask();
    await ask();
    const said = lines.filter(({ level }) => level !== "debug");
    expect(said).toEqual([
      {
        level: "warn",
        message: "a replica failed, and is left alone for a while",
        fields: { model: "llama", replica: a, reason: "connection refused", seconds: 1 },
      },
      { level: "info", message: "a replica answers", fields: { model: "llama", replica: a } },
    ]);
  });
});

describe("where no replica is up", () => {
  test("the least bad is tried rather than the caller refused", async () => {
    const { askAround, ask, set } = testReplicas(two);
    await askAround(two);
    expect(set.problem()).toBeUndefined();
    expect(two).toContain(await ask());
  });

  test("an only server is given all that comes after a failure that may be an accident", async () => {
    const { set, askAround, begin } = testReplicas(urlsOf("a"));
    await askAround([a]);
    const pending = Array.from({ length: 5 }, () =>
      set.attempt(choiceOf(), async (lease) => lease),
    );
    expect((await Promise.all(pending)).map(({ url }) => url)).toEqual([a, a, a, a, a]);
    using _ = await begin();
  });

  test("each is tried by one request at a time after two failed probes, others are told when to ask", async () => {
    const { probe, away } = scriptedProbe();
    const { set, askAround, clock } = testReplicas([a], { probe });
    away.add(a);
    for (let time = 0; time < 5; time++) await askAround([a]);
    expect(set.problem()).toBeUndefined();
    await clock.pass(3000);
    expect(set.problem()).toBe("The server of the model 'llama' does not answer.");
    const { promise, resolve } = Promise.withResolvers<void>();
    const trial = set.attempt(choiceOf(), async (lease) => {
      using _ = lease;
      await promise;
      lease.succeeded();
    });
    const refused = await askAround([]);
    expect(refused.asked).toEqual([]);
    expect(refused.error).toEqual(
      new NodeError(
        "unavailable",
        "No server of the model 'llama' answers now. Try again in 1 s.",
        { retryAfterMs: 1000 },
      ),
    );
    resolve();
    await trial;
    expect([(await askAround([])).asked, set.problem()]).toEqual([[a], undefined]);
  });

  test("an only server that was away for long is asked every second how it is", async () => {
    const { probe, away } = scriptedProbe();
    const { set, askAround, clock } = testReplicas([a], { probe });
    away.add(a);
    await askAround([a]);
    await clock.pass(600_000);
    away.clear();
    await clock.pass(1000);
    expect(set.problem()).toBeUndefined();
    // Whatever one caller's requests do to it now.
    for (let time = 0; time < 5; time++) await askAround([a]);
    const asked = Array.from({ length: 3 }, () => set.attempt(choiceOf(), async () => {}));
    expect(await Promise.all(asked)).toHaveLength(3);
  });

  test("says so without an address", async () => {
    const { probe, away } = scriptedProbe();
    const { set, askAround, clock } = testReplicas(two, { probe });
    for (const url of two) away.add(url);
    await askAround(two);
    await clock.pass(3000);
    expect(set.problem()).toBe("None of the 2 servers of the model 'llama' answers.");
  });

  test("one that answers questions takes all that comes", async () => {
    const { set, askAround, clock } = testReplicas(urlsOf("a"), { probe: async () => {} });
    for (let time = 0; time < 5; time++) await askAround([a]);
    await clock.pass(30_000);
    const pending = Array.from({ length: 3 }, () => set.attempt(choiceOf(), async () => {}));
    expect(await Promise.all(pending)).toHaveLength(3);
  });
});

describe("errors of a replica's own", () => {
  const wrong = new NodeError("upstream_failed", "status 500");

  function faultyReplicas() {
    const replicas = testReplicas(two, { probe: async () => {} });
    /** Everybody answers this request with an error. */
    const fault = async (request: string): Promise<void> => {
      await rejectionOf(
        replicas.set.attempt(choiceOf({ request: () => request }), async (lease) => {
          lease.faulted(wrong.message);
          throw new NotBegun(wrong);
        }),
      );
    };
    return { ...replicas, fault };
  }

  test("to one request that is repeated leave it up for everybody", async () => {
    const { fault, states } = faultyReplicas();
    for (let time = 0; time < 10; time++) await fault("odd");
    expect(states()).toEqual(["up", "up"]);
  });

  test("to three different requests in a row leave it alone", async () => {
    const { fault, states, ask } = faultyReplicas();
    for (const request of ["one", "two"]) await fault(request);
    for (const _ of two) await ask();
    for (const request of ["one", "two"]) await fault(request);
    expect(states()).toEqual(["up", "up"]);
    await fault("three");
    expect(states()).toEqual(["out", "out"]);
  });

  test("to a request that failed before do not fail a trial", async () => {
    const { fault, states, clock, ask } = faultyReplicas();
    for (const request of ["one", "two", "three"]) await fault(request);
    await clock.pass(30_000);
    expect(states()).toEqual(["trial", "trial"]);
    await fault("three");
    expect(states()).toEqual(["trial", "trial"]);
    await fault("four");
    expect(states()).toEqual(["out", "out"]);
    await clock.pass(30_000);
    for (const _ of two) await ask();
    expect(states()).toEqual(["up", "up"]);
  });
});
