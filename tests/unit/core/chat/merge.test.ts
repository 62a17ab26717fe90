import { describe, expect, test } from "bun:test";
import { merge } from "../../../../src/core/chat/merge.ts";
import { aborted } from "../../../support/aborted.ts";
import { rejectionOf } from "../../../support/rejection.ts";

/** Yields its steps; a function among them is waited for, an error thrown. Records its end. */
class Source implements AsyncIterable<string> {
  made = 0;
  ended = false;
  readonly #steps: readonly (string | Error | (() => Promise<void>))[];

  constructor(...steps: readonly (string | Error | (() => Promise<void>))[]) {
    this.#steps = steps;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<string> {
    try {
      for (const step of this.#steps) {
        if (step instanceof Error) throw step;
        if (typeof step === "string") {
          this.made++;
          yield step;
        } else await step();
      }
    } finally {
      this.ended = true;
    }
  }
}

describe("merged iterations", () => {
  test("give every value once, each iteration's in its order", async () => {
    const all = await Array.fromAsync(merge([new Source("a", "b", "c"), new Source("x", "y")]));
    const of = (wanted: number) =>
      all.filter(({ index }) => index === wanted).map(({ value }) => value);
    expect([of(0), of(1), all.length]).toEqual([["a", "b", "c"], ["x", "y"], 5]);
  });

  test("are nothing where there are none", async () => {
    expect(await Array.fromAsync(merge([]))).toEqual([]);
  });

  test("do not wait for the slow ones", async () => {
    const gate = Promise.withResolvers<void>();
    const merged = merge([new Source(() => gate.promise, "late"), new Source("a", "b")]);
    expect([(await merged.next()).value, (await merged.next()).value]).toEqual([
      { index: 1, value: "a" },
      { index: 1, value: "b" },
    ]);
    gate.resolve();
    expect(await Array.fromAsync(merged)).toEqual([{ index: 0, value: "late" }]);
  });

  test("starve none of several that are always ready", async () => {
    const many = Array.from({ length: 100 }, (_, at) => String(at));
    const merged = merge([new Source(...many), new Source(...many)]);
    const first = new Set<number>();
    for await (const { index, value } of merged) {
      first.add(index);
      if (value === "99") break;
    }
    expect(first).toEqual(new Set([0, 1]));
  });

  test("are never more than one value ahead", async () => {
    const sources = [new Source("a", "b", "c", "d"), new Source("w", "x", "y", "z")];
    const merged = merge(sources);
    await merged.next();
    await new Promise<void>((resolve) => setImmediate(resolve));
    expect(sources.map(({ made }) => made)).toEqual([2, 1]);
    await merged.return(undefined);
  });

  test("of one are its own values, none of them made before it is asked for", async () => {
    const source = new Source("a", "b", "c");
    const merged = merge([source]);
    expect((await merged.next()).value).toEqual({ index: 0, value: "a" });
    await new Promise<void>((resolve) => setImmediate(resolve));
    expect(source.made).toBe(1);
    await merged.return(undefined);
    expect(source.ended).toBe(true);
  });

  test("end together when one fails", async () => {
    const other = new Source(...Array.from({ length: 100 }, () => "more"));
    const merged = merge([new Source("a", new Error("broken")), other]);
    expect(await rejectionOf(Array.fromAsync(merged))).toMatchObject({ message: "broken" });
    expect(other.ended).toBe(true);
    expect(other.made).toBeLessThan(10);
  });

  test("tell those that have no value yet when one fails, and nobody when all end", async () => {
    const abandoned = new AbortController();
    const waiting = new Source(() => aborted(abandoned.signal));
    const abandon = () => abandoned.abort();
    await Array.fromAsync(merge([new Source("a"), new Source("b")], { abandon }));
    expect(abandoned.signal.aborted).toBe(false);
    const merged = merge([new Source(new Error("broken")), waiting], { abandon });
    expect(await rejectionOf(Array.fromAsync(merged))).toMatchObject({ message: "broken" });
    expect(waiting.ended).toBe(true);
  });

  test("end together when the reader leaves, a failure that nobody waits for included", async () => {
    const gate = Promise.withResolvers<void>();
    const failing = new Source(() => gate.promise, new Error("too late"));
    const sources = [new Source("a", "b"), failing];
    const merged = merge(sources);
    await merged.next();
    const left = merged.return(undefined);
    gate.resolve();
    expect(await left).toEqual({ done: true, value: undefined });
    expect(sources.map(({ ended }) => ended)).toEqual([true, true]);
  });
});
