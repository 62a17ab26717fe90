import { describe, expect, test } from "bun:test";
import { Placements, rendezvousOrder } from "../../../../src/gateway/replicas/choose-replica.ts";

const replicas = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ url: `http://gpu-${at}:8000/v1` }));
const keys = Array.from({ length: 4000 }, (_, at) => `prefix ${at}`);
const homes = (members: readonly { url: string }[]) =>
  keys.map((key) => rendezvousOrder(key, members)[0]?.url);
const share = (count: number): number => count / keys.length;

describe("rendezvous hashing", () => {
  test("gives each of several replicas its share of the keys", () => {
    const counts = Map.groupBy(homes(replicas(5)), (url) => url);
    expect(counts.size).toBe(5);
    for (const found of counts.values())
      expect(Math.abs(share(found.length) - 1 / 5)).toBeLessThan(0.03);
  });

  test("moves only the keys of a replica that goes", () => {
    const before = homes(replicas(5));
    const after = homes(replicas(5).filter((_, at) => at !== 2));
    const moved = before.filter((url, at) => url !== after[at]);
    expect(new Set(moved)).toEqual(new Set(["http://gpu-2:8000/v1"]));
    expect(share(moved.length)).toBeLessThan(1 / 5 + 0.03);
  });

  test("moves to a replica that comes only what is its share", () => {
    const before = homes(replicas(4));
    const after = homes(replicas(5));
    const moved = after.filter((url, at) => url !== before[at]);
    expect(new Set(moved)).toEqual(new Set(["http://gpu-4:8000/v1"]));
    expect(share(moved.length)).toBeLessThan(1 / 5 + 0.03);
  });

  test("spreads what one leaves over all others, and does not heed how they are listed", () => {
    const orders = keys
      .map((key) => rendezvousOrder(key, replicas(4)))
      .filter(([first]) => first?.url === "http://gpu-0:8000/v1");
    const seconds = Map.groupBy(orders, ([, second]) => second?.url);
    expect(seconds.size).toBe(3);
    for (const found of seconds.values()) {
      expect(Math.abs(found.length / orders.length - 1 / 3)).toBeLessThan(0.06);
    }
    expect(homes(replicas(4).toReversed())).toEqual(homes(replicas(4)));
  });

  test("is the same in every version: nodes of two versions must agree", () => {
    expect(rendezvousOrder("a", replicas(3)).map(({ url }) => url)).toEqual([
      "http://gpu-2:8000/v1",
      "http://gpu-0:8000/v1",
      "http://gpu-1:8000/v1",
    ]);
  });
});

test("remembers the prompts that were placed last, and no more than it may", () => {
  const placements = new Placements(2);
  placements.set("a", "http://1");
  placements.set("b", "http://1");
  placements.set("a", "http://2");
  placements.set("c", "http://3");
  expect(["a", "b", "c"].map((prefix) => placements.of(prefix))).toEqual([
    "http://2",
    undefined,
    "http://3",
  ]);
  placements.set("a", undefined);
  expect(placements.of("a")).toBeUndefined();
});
