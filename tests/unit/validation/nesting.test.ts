import { expect, test } from "bun:test";
import { deepestNesting, isTooDeep } from "../../../src/validation/nesting.ts";

const nested = (depth: number): unknown =>
  JSON.parse(`${'{"a":['.repeat(depth / 2)}${"]}".repeat(depth / 2)}`);

test.each<[unknown, boolean]>([
  [null, false],
  ["text", false],
  [[], false],
  [nested(deepestNesting), false],
  [[nested(deepestNesting)], true],
  [[1, {}, nested(deepestNesting + 2)], true],
])("what nests beyond the deepest level is too deep, whatever is beside it (%#)", (value, deep) => {
  expect(isTooDeep(value)).toBe(deep);
});
