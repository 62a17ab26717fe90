import { describe, expect, test } from "bun:test";
import {
  announceIgnored,
  ignoredHeader,
  unknownKeys,
} from "../../../../src/server/middleware/ignored-fields.ts";
import { recordingLog } from "../../../support/recording-log.ts";

function headerOf(names: readonly string[]): string | number | undefined {
  const headers: Record<string, string | number> = {};
  announceIgnored(names, { id: "mine", headers }, recordingLog().log);
  return headers[ignoredHeader];
}

describe("the header that names ignored fields", () => {
  test("joins them", () => {
    expect(headerOf(["a", "stream_options.b", "messages[0].c-d"])).toBe(
      "a, stream_options.b, messages[0].c-d",
    );
  });

  test("has no characters that a header cannot carry", () => {
    expect(headerOf(["a\r\nset-cookie: x", "naïve, me"])).toBe("a??set-cookie??x, na?ve??me");
  });

  test("has a bound on names and on their number", () => {
    const names = Array.from({ length: 40 }, (_, at) => `n${at}`);
    expect(headerOf(["x".repeat(100)])).toBe("x".repeat(64));
    expect(headerOf(names)).toBe(`${names.slice(0, 32).join(", ")}, and 8 more`);
  });
});

test("nothing that is ignored leaves no header and no line", () => {
  const { log, lines } = recordingLog();
  const headers: Record<string, string | number> = {};
  announceIgnored([], { id: "mine", headers }, log);
  expect({ headers, lines }).toEqual({ headers: {}, lines: [] });
});

test("keys are unknown unless they are known or null", () => {
  expect(unknownKeys({ a: 1, b: null, c: 0, d: "" }, ["a"])).toEqual(["c", "d"]);
});
