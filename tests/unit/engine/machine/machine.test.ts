import { expect, test } from "bun:test";
import { type Machine, withinLimit } from "../../../../src/engine/machine/machine.ts";

const machine: Machine = { memory: 8e9, availableMemory: 5e9, memoryBound: "machine" };

test("a limit takes memory away, and never gives any", () => {
  expect(withinLimit(machine, 6e9)).toEqual({ ...machine, memory: 6e9 });
  expect(withinLimit(machine, 2e9)).toEqual({ ...machine, memory: 2e9, availableMemory: 2e9 });
  expect(withinLimit(machine, 64e9)).toEqual(machine);
  expect(withinLimit(machine, undefined)).toEqual(machine);
});
