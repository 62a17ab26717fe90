import { describe, expect, test } from "bun:test";
import { FairQueue } from "../../../../src/core/limits/fair-queue.ts";

function queueOf(...waiting: [caller: string, waiter: string][]): FairQueue<string> {
  const queue = new FairQueue<string>(8);
  for (const [caller, waiter] of waiting) queue.join(caller, waiter);
  return queue;
}

const drain = (queue: FairQueue<string>): string[] => {
  const served: string[] = [];
  for (let next = queue.next(); next !== undefined; next = queue.next()) served.push(next);
  return served;
};

describe("the fair queue", () => {
  test("serves one caller in the order of coming", () => {
    expect(drain(queueOf(["a", "a1"], ["a", "a2"], ["a", "a3"]))).toEqual(["a1", "a2", "a3"]);
  });

  test("serves callers in turn, however many wait for one of them", () => {
    const queue = queueOf(
      ["a", "a1"],
      ["a", "a2"],
      ["a", "a3"],
      ["b", "b1"],
      ["c", "c1"],
      ["b", "b2"],
    );
    expect(drain(queue)).toEqual(["a1", "b1", "c1", "a2", "b2", "a3"]);
  });

  test("keeps the turn of a caller that comes later", () => {
    const queue = queueOf(["a", "a1"], ["a", "a2"], ["a", "a3"]);
    expect(queue.next()).toBe("a1");
    queue.join("b", "b1");
    expect(drain(queue)).toEqual(["a2", "b1", "a3"]);
  });

  test("forgets who leaves, and counts who is there", () => {
    const queue = queueOf(["a", "a1"], ["b", "b1"], ["a", "a2"]);
    queue.leave("a", "a1");
    queue.leave("a", "a1");
    queue.leave("nobody", "a2");
    expect(queue.size).toBe(2);
    expect(drain(queue)).toEqual(["a2", "b1"]);
    expect(queue.size).toBe(0);
  });

  test("is full at its bound, and not when somebody has left", () => {
    const queue = new FairQueue<string>(2);
    queue.join("a", "a1");
    expect(queue.full).toBe(false);
    queue.join("b", "b1");
    expect(queue.full).toBe(true);
    queue.next();
    expect(queue.full).toBe(false);
    expect(new FairQueue(0).full).toBe(true);
  });

  test("lets one caller fill it while nobody else comes", () => {
    const queue = new FairQueue<string>(3);
    for (const waiter of ["a1", "a2", "a3"]) {
      expect(queue.admits("a")).toBe(true);
      expect(queue.join("a", waiter)).toBeUndefined();
    }
    expect(queue.admits("a")).toBe(false);
  });

  test("gives a newcomer the last place of whoever has the most, until all have their share", () => {
    const queue = new FairQueue<string>(4);
    for (const waiter of ["a1", "a2", "a3", "a4"]) queue.join("a", waiter);
    expect([queue.admits("b"), queue.join("b", "b1"), queue.size]).toEqual([true, "a4", 4]);
    expect([queue.admits("b"), queue.join("b", "b2"), queue.size]).toEqual([true, "a3", 4]);
    expect([queue.admits("a"), queue.admits("b")]).toEqual([false, false]);
    expect([queue.admits("c"), queue.join("c", "c1"), queue.size]).toEqual([true, "a2", 4]);
    expect(queue.admits("d")).toBe(true);
    expect(drain(queue)).toEqual(["a1", "b1", "c1", "b2"]);
  });

  test("takes no place from who has one only", () => {
    const queue = new FairQueue<string>(2);
    queue.join("a", "a1");
    queue.join("b", "b1");
    expect(queue.admits("c")).toBe(false);
    expect(new FairQueue(0).admits("c")).toBe(false);
  });
});
