import { expect, test } from "bun:test";
import { Placements } from "../../../../src/gateway/replicas/choose-replica.ts";

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
  placements.forget("a");
  expect([placements.of("a"), placements.size]).toEqual([undefined, 1]);
});
