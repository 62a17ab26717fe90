import { expect, test } from "bun:test";
import fc from "fast-check";
import { TokenTally } from "../../../../src/core/models/token-tally.ts";

test("counts tokens as they come", () => {
  const tally = new TokenTally();
  expect([tally.add(1), tally.add(1), tally.add(3)]).toEqual([1, 1, 3]);
});

test("lets later tokens pay for those that were counted too many", () => {
  const tally = new TokenTally();
  expect([tally.add(3), tally.add(-2), tally.add(1), tally.add(1), tally.add(1)]).toEqual([
    3, 0, 0, 0, 1,
  ]);
});

test("never falls, is never below the truth, and meets it when the debt is paid", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -20, max: 20 })), (steps) => {
      const tally = new TokenTally();
      let sum = 0;
      let truth = 0;
      for (const step of steps) {
        const grown = tally.add(step);
        expect(grown).toBeGreaterThanOrEqual(0);
        sum += grown;
        truth += step;
        expect(sum).toBeGreaterThanOrEqual(truth);
      }
      const debt = sum - truth;
      expect(sum + tally.add(debt)).toBe(truth + debt);
    }),
  );
});
