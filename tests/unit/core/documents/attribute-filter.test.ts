import { describe, expect, test } from "bun:test";
import {
  type AttributeFilter,
  matches,
  selectionOf,
} from "../../../../src/core/documents/attribute-filter.ts";

const german = { language: "de", year: 2024, draft: false };

const eq = (key: string, value: string | number | boolean): AttributeFilter => ({
  type: "eq",
  key,
  value,
});

describe("a filter on attributes", () => {
  test.each<[AttributeFilter, boolean]>([
    [eq("language", "de"), true],
    [eq("language", "en"), false],
    [eq("draft", false), true],
    [eq("missing", false), false],
    [{ type: "ne", key: "language", value: "en" }, true],
    [{ type: "ne", key: "missing", value: "en" }, true],
    [{ type: "gt", key: "year", value: 2024 }, false],
    [{ type: "gte", key: "year", value: 2024 }, true],
    [{ type: "lt", key: "year", value: 2025 }, true],
    [{ type: "lte", key: "year", value: 2023 }, false],
    [{ type: "gt", key: "language", value: "da" }, true],
    [{ type: "in", key: "year", values: new Set([2023, 2024]) }, true],
    [{ type: "in", key: "missing", values: new Set(["a"]) }, false],
    [{ type: "nin", key: "year", values: new Set([2023]) }, true],
    [{ type: "nin", key: "missing", values: new Set(["a"]) }, true],
    [{ type: "and", filters: [eq("language", "de"), eq("year", 2024)] }, true],
    [{ type: "and", filters: [eq("language", "de"), eq("year", 1)] }, false],
    [{ type: "or", filters: [eq("language", "en"), eq("year", 2024)] }, true],
    [{ type: "or", filters: [eq("language", "en"), eq("year", 1)] }, false],
  ])("%j: %p", (filter, isMatch) => {
    expect(matches(filter, german)).toBe(isMatch);
  });

  test.each<[AttributeFilter]>([
    [eq("year", "2024")],
    [{ type: "gt", key: "year", value: "1" }],
    [{ type: "lt", key: "language", value: 5 }],
    [{ type: "gte", key: "missing", value: 0 }],
    [eq("constructor", "x")],
    [{ type: "gt", key: "toString", value: "" }],
  ])(
    "finds values of another type, and what objects have by nature, not to match: %j",
    (filter) => {
      expect(matches(filter, german)).toBe(false);
    },
  );

  test("is the shorter list of documents, and never lets a hidden one through", () => {
    const catalogue = new Map([
      ["a", { n: 1 }],
      ["b", { n: 2 }],
      ["c", { n: 2 }],
    ]);
    const hidden = new Set(["h"]);
    expect(selectionOf(catalogue, hidden, undefined)).toEqual({ except: hidden });
    expect(selectionOf(catalogue, hidden, eq("n", 1))).toEqual({ only: new Set(["a"]) });
    expect(selectionOf(catalogue, new Set(), eq("n", 2))).toEqual({ except: new Set(["a"]) });
    expect(selectionOf(catalogue, hidden, eq("n", 3))).toEqual({ only: new Set() });
  });
});
