import { describe, expect, test } from "bun:test";
import { NodeError } from "../../../../src/core/errors.ts";
import { Budget } from "../../../../src/engine/grammar/limits.ts";
import { SchemaResolver } from "../../../../src/engine/grammar/schema-resolver.ts";

const document = {
  anyOf: [{ const: 0 }, { items: [{ const: 1 }] }],
  $defs: { "": 2, "a/b": 3, "m~n": 4, "~1": 5, "% é": 6, toString: 7 },
};

const resolver = new SchemaResolver({
  root: document,
  budget: new Budget(),
  refuse: (path, why) => new NodeError("invalid_request", `${path.join("/")} ${why}`),
});

describe("a reference within a document", () => {
  test.each([
    ["#", document],
    ["#/anyOf/0", { const: 0 }],
    ["#/anyOf/1/items/0/const", 1],
    ["#/$defs/", 2],
    ["#/$defs/a~1b", 3],
    ["#/$defs/a%2Fb", 3],
    ["#/$defs/m~0n", 4],
    ["#/$defs/~01", 5],
    ["#/$defs/%25%20%C3%A9", 6],
    ["#/%24defs/toString", 7],
  ])("%s is followed", (reference, target) => {
    expect<unknown>(resolver.lookUp(reference, [])).toEqual(target);
  });

  test.each([
    ["#/%zz", "% that is not followed"],
    ["#/$defs/%ff", "% that is not followed"],
    ["#/anyOf/2", "points to nothing"],
    ["#/anyOf/01", "points to nothing"],
    ["#/anyOf/-", "points to nothing"],
    ["#/anyOf/length", "points to nothing"],
    ["#/constructor", "points to nothing"],
    ["#/$defs/a~1b/x", "points to nothing"],
    ["other.json#/a", "points outside"],
    ["#anchor", "points outside"],
  ])("%s is refused with its reason", (reference, reason) => {
    const refusal = `x/$ref '${reference}' `;
    expect(() => resolver.lookUp(reference, ["x"])).toThrow(refusal);
    expect(() => resolver.lookUp(reference, ["x"])).toThrow(reason);
  });
});
