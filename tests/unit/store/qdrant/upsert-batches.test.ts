import { expect, test } from "bun:test";
import { batchesOf } from "../../../../src/store/qdrant/upsert-batches.ts";
import { passage } from "../../../support/passages.ts";

test("passages are sent some at a time, in order, each once", () => {
  const many = Array.from({ length: 600 }, (_, at) => passage(at, [1, 0, 0]));
  const batches = [...batchesOf(many)];
  expect(batches.map(({ length }) => length)).toEqual([256, 256, 88]);
  expect(batches.flat()).toEqual(many);
  expect([...batchesOf([])]).toEqual([]);
});

test("large passages are sent fewer at a time, at least one", () => {
  const large = (at: number) => passage(at, [1], { source: "x".repeat(200_000) });
  const huge = passage(0, [1], { source: "x".repeat(2_000_000) });
  const sizes = [...batchesOf([large(1), large(2), large(3), huge, huge])].map(
    ({ length }) => length,
  );
  expect(sizes).toEqual([2, 1, 1, 1]);
});
