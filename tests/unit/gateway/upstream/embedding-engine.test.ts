import { describe, expect, test } from "bun:test";
import { inBatches } from "../../../../src/gateway/upstream/ask.ts";
import { readVectors } from "../../../../src/gateway/upstream/embedding-engine.ts";
import { rejectionOf } from "../../../support/rejection.ts";

describe("vectors", () => {
  const base64 = (...numbers: number[]) =>
    Buffer.from(Float32Array.from(numbers).buffer).toString("base64");

  test("are read from numbers and from bytes, in the order of the texts", () => {
    const data = [
      { index: 1, embedding: base64(3, 4) },
      { index: 0, embedding: [1, 2] },
    ];
    expect(readVectors({ data }, 2)).toEqual([Float32Array.of(1, 2), Float32Array.of(3, 4)]);
  });

  test.each([
    ["too few", [{ embedding: [1] }]],
    ["too many", [{ embedding: [1] }, { embedding: [1] }, { embedding: [1] }]],
    ["unlike", [{ embedding: [1] }, { embedding: [1, 2] }]],
    ["not numbers", [{ embedding: ["1"] }, { embedding: [1] }]],
    ["not finite", [{ embedding: base64(Number.NaN) }, { embedding: [1] }]],
    ["empty", [{ embedding: [] }, { embedding: [] }]],
    // No text is like it, so a passage of it would not be found.
    ["of nothing", [{ embedding: base64(0, -0) }, { embedding: [0, 1] }]],
    ["cut", [{ embedding: "AAA=" }, { embedding: [1] }]],
    ["none", undefined],
    // Before, each hole up to there was walked: minutes of the node's loop for some bytes.
    ["for a text far away", [{ index: 2 ** 32 - 2, embedding: [1] }, { embedding: [1] }]],
    ["for one text twice", [{ index: 1, embedding: [1] }, { embedding: [1] }]],
    ["more than the texts", [{ embedding: [1] }, { embedding: [1] }, { index: 0, embedding: [1] }]],
  ])("that are %s are none", (_, data) => {
    expect(readVectors({ data }, 2)).toBeUndefined();
  });
});

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
