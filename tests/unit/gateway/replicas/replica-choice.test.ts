import { describe, expect, test } from "bun:test";
import type { ReplicaLease } from "../../../../src/gateway/replicas/replica.ts";
import { testReplicas, urlsOf } from "../../../support/replica-set.ts";

const three = urlsOf("a", "b", "c");

/** Random numbers that are the same in every run. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

describe("the choice of a replica", () => {
  test("gives all turns of a conversation to one, and conversations to all", async () => {
    const { ask } = testReplicas(three);
    const homes = new Set<string>();
    for (let talk = 0; talk < 30; talk++) {
      const turns = [];
      for (let turn = 0; turn < 3; turn++) turns.push(await ask({ prefix: `talk ${talk}` }));
      expect(new Set(turns).size).toBe(1);
      homes.add(turns[0] ?? "");
    }
    expect([...homes].toSorted()).toEqual(three);
  });

  test("lets one popular prompt fill no replica beyond the bound", async () => {
    const { set, begin } = testReplicas(three);
    for (let count = 1; count <= 120; count++) {
      await begin({ prefix: "everybody's system prompt" });
      const most = Math.max(...set.status().map(({ inFlight }) => inFlight));
      expect(most).toBeLessThanOrEqual(Math.ceil((1.25 * count) / 3) + 1);
    }
    const least = Math.min(...set.status().map(({ inFlight }) => inFlight));
    expect(least).toBeGreaterThan(15);
  });

  test("gives the next turn to whoever had the last, where the first choice was busy then", async () => {
    const { begin, ask } = testReplicas(three);
    const prefix = "everybody's system prompt";
    const home = await ask({ prefix: "my talk" });
    // All that there is to do is at one replica, because the others were not there yet.
    const others: ReplicaLease[] = [];
    for (let more = 0; more < 60; more++) {
      const lease = await begin({ prefix: `${prefix} ${more}` });
      if (lease.url === home) others.push(lease);
      else lease[Symbol.dispose]();
    }
    const elsewhere = await ask({ prefix: "my talk" });
    expect(elsewhere).not.toBe(home);
    for (const lease of others) lease[Symbol.dispose]();
    expect(await ask({ prefix: "my talk" })).toBe(elsewhere);
  });

  test("keeps more than 95 of 100 later turns where the one before was, under load", async () => {
    const random = seeded(7);
    const { begin } = testReplicas(three);
    const running: { lease: ReplicaLease; talk: number }[] = [];
    const last = new Map<number, string>();
    let kept = 0;
    let later = 0;
    for (let step = 0; step < 5000; step++) {
      // Of 48 conversations about half wait for an answer, as where people read between turns.
      const talk = Math.floor(random() * 48) + 48 * Math.floor(step / 1000);
      if (running.every((one) => one.talk !== talk)) {
        const lease = await begin({ prefix: `talk ${talk}` });
        const { url } = lease;
        const before = last.get(talk);
        if (before !== undefined) later++;
        if (before === url) kept++;
        last.set(talk, url);
        running.push({ lease, talk });
      }
      while (running.length > 24) {
        const [done] = running.splice(Math.floor(random() * running.length), 1);
        done?.lease[Symbol.dispose]();
      }
    }
    expect(later).toBeGreaterThan(2000);
    expect(kept / later).toBeGreaterThan(0.95);
  });

  test("gives what has no prefix to whoever has least to do, in turn where several have", async () => {
    const { begin, ask } = testReplicas(three);
    const [first, second] = [await begin(), await begin()];
    const third = await begin();
    expect([first, second, third].map(({ url }) => url).toSorted()).toEqual(three);
    second[Symbol.dispose]();
    expect(await ask()).toBe(second.url);
    first[Symbol.dispose]();
    third[Symbol.dispose]();
    const asked = [];
    for (let turn = 0; turn < 6; turn++) asked.push(await ask());
    expect(asked.slice(3)).toEqual(asked.slice(0, 3));
    expect(new Set(asked).size).toBe(3);
  });

  test("asks others first while one says that it has no room", async () => {
    const { set, clock, ask } = testReplicas(urlsOf("a", "b"));
    const [full] = await Promise.all([
      set.attempt({ signal: AbortSignal.any([]) }, async (lease) => {
        using _ = lease;
        lease.overloaded(4000);
        return lease.url;
      }),
    ]);
    const asked = new Set([await ask(), await ask(), await ask()]);
    expect([...asked]).toEqual(urlsOf("a", "b").filter((url) => url !== full));
    await clock.pass(4000);
    expect(new Set([await ask(), await ask()]).size).toBe(2);
  });

  test("asks one that has no room where none has", async () => {
    const { set, ask } = testReplicas(urlsOf("a"));
    await set.attempt({ signal: AbortSignal.any([]) }, async (lease) => {
      using _ = lease;
      lease.overloaded();
    });
    expect(await ask()).toBe("http://a/v1");
  });
});
