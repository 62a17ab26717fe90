import { describe, expect, test } from "bun:test";
import { judge, type Known } from "../../../../src/models/sources/fetch-file.ts";

const answer = (status: number, headers: Record<string, string> = {}): Response =>
  new Response(null, { status, headers });
const half: Known = { bytes: 50, total: 100, etag: '"one"' };

describe("an answer to the question for a file", () => {
  test("is the whole file, with its length where the server says it", () => {
    expect(judge(answer(200, { "content-length": "100" }), { bytes: 0 })).toEqual({
      type: "write",
      start: 0,
      total: 100,
    });
    expect(judge(answer(200), { bytes: 0 })).toEqual({ type: "write", start: 0 });
  });

  test("is refused where it is compressed, a part, or something else", () => {
    const refused = [
      answer(200, { "content-encoding": "gzip" }),
      answer(206, { "content-range": "bytes 0-9/100" }),
      answer(204),
    ];
    for (const each of refused) {
      expect(() => judge(each, { bytes: 0 })).toThrow("makes no sense");
    }
  });
});

describe("an answer to the question for the rest of a file", () => {
  test("goes on where the file was interrupted", () => {
    const rest = answer(206, { "content-range": "bytes 50-99/100", etag: '"one"' });
    expect(judge(rest, half)).toEqual({ type: "write", start: 50, total: 100 });
    const unsized = answer(206, { "content-range": "bytes 50-99/*" });
    expect(judge(unsized, half)).toEqual({ type: "write", start: 50, total: 100 });
  });

  test("is the whole file where the server knows no ranges, or the file changed", () => {
    const whole = answer(200, { "content-length": "120" });
    expect(judge(whole, half)).toEqual({ type: "write", start: 0, total: 120 });
  });

  test.each([
    ["another start", { "content-range": "bytes 0-99/100" }],
    ["another length", { "content-range": "bytes 50-119/120" }],
    ["another version", { "content-range": "bytes 50-99/100", etag: '"two"' }],
    ["no range", {}],
    ["a range that makes no sense", { "content-range": "bytes fifty-100" }],
  ])("is not used where it has %s", (_, headers) => {
    expect(judge(answer(206, headers), half)).toEqual({ type: "restart" });
  });

  test("says that nothing is left, where all is there", () => {
    const known = { ...half, bytes: 100 };
    expect(judge(answer(416, { "content-range": "bytes */100" }), known)).toEqual({
      type: "whole",
    });
    expect(judge(answer(416, { "content-range": "bytes */80" }), known)).toEqual({
      type: "restart",
    });
    expect(judge(answer(416), known)).toEqual({ type: "restart" });
  });
});
