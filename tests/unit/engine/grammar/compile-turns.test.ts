import { describe, expect, test } from "bun:test";
import { nextTurn } from "../../../../src/core/turns.ts";
import { CompileTurns } from "../../../../src/engine/grammar/compile-turns.ts";
import { rejectionOf } from "../../../support/rejection.ts";

function setUp() {
  const turns = new CompileTurns();
  const compiled: string[] = [];
  const ask = (name: string, caller: string, signal = new AbortController().signal) =>
    turns.run(
      async () => {
        compiled.push(name);
        if (name === "wrong") throw new Error("no schema");
        return name;
      },
      { signal, caller },
    );
  return { compiled, ask };
}

describe("turns of compiling schemas", () => {
  test("compile one in a turn of the loop", async () => {
    const { compiled, ask } = setUp();
    const all = Promise.all(["a", "b", "c", "d"].map((name) => ask(name, "one")));
    const inTurns: number[] = [];
    for (let done = 0; done < 4; done = compiled.length) {
      await nextTurn();
      inTurns.push(compiled.length - done);
    }
    expect(Math.max(...inTurns)).toBe(1);
    expect(await all).toEqual(["a", "b", "c", "d"]);
  });

  test("go to each caller in turn", async () => {
    const { compiled, ask } = setUp();
    const many = ["a", "b", "c", "d"].map((name) => ask(name, "one"));
    await Promise.all([...many, ask("other", "two")]);
    expect(compiled.indexOf("other")).toBeLessThan(3);
  });

  test("are not waited for by a caller who has left, and end with a schema that fails", async () => {
    const { compiled, ask } = setUp();
    const left = new AbortController();
    const failing = rejectionOf(ask("wrong", "one"));
    const leaving = rejectionOf(ask("left", "one", left.signal));
    const last = ask("last", "one");
    left.abort(new Error("gone"));
    expect(await failing).toMatchObject({ message: "no schema" });
    expect(await leaving).toMatchObject({ message: "gone" });
    expect(await last).toBe("last");
    expect(compiled).toEqual(["wrong", "last"]);
  });
});
