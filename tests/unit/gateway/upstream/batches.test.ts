import { describe, expect, test } from "bun:test";
import { inBatches } from "../../../../src/gateway/upstream/batches.ts";
import { rejectionOf } from "../../../support/rejection.ts";

describe("a list in several requests", () => {
  const numbers = Array.from({ length: 10 }, (_, at) => at);

  test("has its results in order, with no more requests at once than are allowed", async () => {
    let [now, most] = [0, 0];
    const doubled = await inBatches(numbers, { most: 3, atOnce: 2 }, async (batch, start) => {
      most = Math.max(most, ++now);
      await Bun.sleep(start === 0 ? 10 : 1);
      now--;
      return batch.map((number) => number * 2);
    });
    expect([doubled, most]).toEqual([numbers.map((number) => number * 2), 2]);
  });

  test("fails with the first that fails, and asks no more", async () => {
    const asked: number[] = [];
    const failing = inBatches(numbers, { most: 1, atOnce: 1 }, async ([number = 0]) => {
      asked.push(number);
      if (number === 3) throw new Error("no");
      return [number];
    });
    expect(await rejectionOf(failing)).toMatchObject({ message: "no" });
    expect(asked).toEqual([0, 1, 2, 3]);
  });
});
