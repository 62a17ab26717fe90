import { describe, expect, test } from "bun:test";
import { parseExpiry } from "../../../src/cli/keys.ts";

const now = new Date("2026-11-15T12:00:00Z");

describe("the end of a key", () => {
  test.each([
    ["90m", "2026-11-15T13:30:00.000Z"],
    ["12h", "2026-11-16T00:00:00.000Z"],
    ["30d", "2026-12-15T12:00:00.000Z"],
    ["2027-01-31", "2027-01-31T00:00:00.000Z"],
    ["2027-01-31T08:30:00Z", "2027-01-31T08:30:00.000Z"],
  ])("is %s: %s", (text, expected) => {
    expect(parseExpiry(text, now).toISOString()).toBe(expected);
  });

  test.each([
    ["0d", "'0d' is past"],
    ["2020-01-01", "'2020-01-01' is past"],
    ["soon", "'soon' is no time"],
    ["5", "'5' is no time"],
    ["2027-13-45", "'2027-13-45' is no time"],
    ["", "'' is no time"],
  ])("cannot be '%s'", (text, message) => {
    expect(() => parseExpiry(text, now)).toThrow(message);
    expect(() => parseExpiry(text, now)).toThrow("such as 2027-11-15");
  });
});
