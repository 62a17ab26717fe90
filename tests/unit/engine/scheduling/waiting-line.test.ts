import { describe, expect, test } from "bun:test";
import { WaitingLine } from "../../../../src/engine/scheduling/waiting-line.ts";

function lineOf(...waiting: [caller: string, waiter: string][]): WaitingLine<string> {
  const line = new WaitingLine<string>(8);
  for (const [caller, waiter] of waiting) line.join(caller, waiter);
  return line;
}

const drain = (line: WaitingLine<string>): string[] => {
  const served: string[] = [];
  for (let next = line.next(); next !== undefined; next = line.next()) served.push(next);
  return served;
};

describe("the waiting line", () => {
  test("serves one caller in the order of coming", () => {
    expect(drain(lineOf(["a", "a1"], ["a", "a2"], ["a", "a3"]))).toEqual(["a1", "a2", "a3"]);
  });

  test("serves callers in turn, however many wait for one of them", () => {
    const line = lineOf(
      ["a", "a1"],
      ["a", "a2"],
      ["a", "a3"],
      ["b", "b1"],
      ["c", "c1"],
      ["b", "b2"],
    );
    expect(drain(line)).toEqual(["a1", "b1", "c1", "a2", "b2", "a3"]);
  });

  test("keeps the turn of a caller that comes later", () => {
    const line = lineOf(["a", "a1"], ["a", "a2"], ["a", "a3"]);
    expect(line.next()).toBe("a1");
    line.join("b", "b1");
    expect(drain(line)).toEqual(["a2", "b1", "a3"]);
  });

  test("forgets who leaves, and counts who is there", () => {
    const line = lineOf(["a", "a1"], ["b", "b1"], ["a", "a2"]);
    line.leave("a", "a1");
    line.leave("a", "a1");
    line.leave("nobody", "a2");
    expect(line.size).toBe(2);
    expect(drain(line)).toEqual(["a2", "b1"]);
    expect(line.size).toBe(0);
  });

  test("is full at its bound, and not when somebody has left", () => {
    const line = new WaitingLine<string>(2);
    line.join("a", "a1");
    expect(line.full).toBe(false);
    line.join("b", "b1");
    expect(line.full).toBe(true);
    line.next();
    expect(line.full).toBe(false);
    expect(new WaitingLine(0).full).toBe(true);
  });

  test("lets one caller fill it while nobody else comes", () => {
    const line = new WaitingLine<string>(3);
    for (const waiter of ["a1", "a2", "a3"]) {
      expect(line.admits("a")).toBe(true);
      expect(line.join("a", waiter)).toBeUndefined();
    }
    expect(line.admits("a")).toBe(false);
  });

  test("gives a newcomer the last place of whoever has the most, until all have their share", () => {
    const line = new WaitingLine<string>(4);
    for (const waiter of ["a1", "a2", "a3", "a4"]) line.join("a", waiter);
    expect([line.admits("b"), line.join("b", "b1"), line.size]).toEqual([true, "a4", 4]);
    expect([line.admits("b"), line.join("b", "b2"), line.size]).toEqual([true, "a3", 4]);
    expect([line.admits("a"), line.admits("b")]).toEqual([false, false]);
    expect([line.admits("c"), line.join("c", "c1"), line.size]).toEqual([true, "a2", 4]);
    expect(line.admits("d")).toBe(true);
    expect(drain(line)).toEqual(["a1", "b1", "c1", "b2"]);
  });

  test("takes no place from who has one only", () => {
    const line = new WaitingLine<string>(2);
    line.join("a", "a1");
    line.join("b", "b1");
    expect(line.admits("c")).toBe(false);
    expect(new WaitingLine(0).admits("c")).toBe(false);
  });
});
