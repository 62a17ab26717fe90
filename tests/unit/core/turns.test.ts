import { expect, test } from "bun:test";
import { Places } from "../../../src/core/turns.ts";
import { rejectionOf } from "../../support/rejection.ts";

test("so much work of a name is done at a time, and the rest in order, whatever fails", async () => {
  const places = new Places(2);
  const begun: string[] = [];
  const work = (name: string, what: string) => {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const ended = places.run(name, () => {
      begun.push(what);
      return promise;
    });
    return { ended, resolve, reject };
  };
  const [a1, a2, a3, a4] = ["a1", "a2", "a3", "a4"].map((what) => work("a", what));
  const b1 = work("b", "b1");
  expect(begun).toEqual(["a1", "a2", "b1"]);
  const failure = new Error("it fails");
  a2?.reject(failure);
  expect(await rejectionOf(a2?.ended ?? Promise.resolve())).toBe(failure);
  expect(begun).toEqual(["a1", "a2", "b1", "a3"]);
  for (const each of [a1, a3, a4, b1]) each?.resolve("done");
  const ends = [a1, a3, a4, b1].map((each) => each?.ended);
  expect(await Promise.all(ends)).toEqual(["done", "done", "done", "done"]);
  expect(begun).toEqual(["a1", "a2", "b1", "a3", "a4"]);
});
