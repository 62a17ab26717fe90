import { describe, expect, test } from "bun:test";
import { Type as T } from "@sinclair/typebox";
import {
  announceIgnored,
  fieldExaminer,
  ignoredHeader,
} from "../../../../src/server/middleware/ignored-fields.ts";
import {
  accepted,
  ignored,
  ignoredAs,
  nullable,
  openObject,
  readAs,
  rejected,
  unexamined,
} from "../../../../src/server/wire/fields.ts";
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

describe("the fields of a request", () => {
  const Tool = T.Union([
    openObject({ type: T.Literal("search"), limit: T.Optional(T.Integer()) }),
    openObject({ type: T.Literal("function"), name: T.String() }),
  ]);
  const Request = openObject({
    text: T.String(),
    options: nullable(openObject({ depth: T.Optional(T.Integer()) })),
    tools: nullable(T.Array(Tool)),
    mode: nullable(T.Union([T.Literal("fast"), ignoredAs(T.Literal("slow"), "There is one.")])),
    user: accepted("Nothing depends on it."),
    effort: ignored("There is one.", { unless: (value) => value === "none" }),
    audio: rejected("cannot be honoured: there is no sound", {
      unless: (_, body) => "silent" in body,
    }),
    silent: accepted("For this test."),
    sent: nullable(unexamined(openObject({ id: T.String() }))),
    any: nullable(T.Record(T.String(), T.Unknown())),
    item: nullable(readAs(openObject({ type: T.String() }), [Tool], "ignored")),
  });
  const examine = fieldExaminer(Request);
  const ignoredIn = (more: object): string[] => examine({ text: "a", ...more });

  test("are named where the schema does not know them, at any depth, unless they are null", () => {
    expect(
      ignoredIn({
        b: null,
        c: 0,
        d: "",
        options: { depth: 1, speed: 2 },
        tools: [
          { type: "search", limit: 1 },
          { type: "function", name: "f", limit: 1 },
        ],
      }),
    ).toEqual(["c", "d", "options.speed", "tools[1].limit"]);
  });

  test("are named where the schema says so, of the field or of one value", () => {
    expect(ignoredIn({ mode: "fast", user: "me", effort: "none" })).toEqual([]);
    expect(ignoredIn({ mode: "slow", effort: "high" })).toEqual(["effort", "mode"]);
  });

  test("are rejected where the schema says why", () => {
    expect(ignoredIn({ audio: null })).toEqual([]);
    expect(ignoredIn({ audio: {}, silent: true })).toEqual([]);
    expect(() => ignoredIn({ audio: {} })).toThrow(
      expect.objectContaining({
        kind: "invalid_request",
        param: "audio",
        message: "'audio' cannot be honoured: there is no sound.",
      }),
    );
  });

  test("are not looked at in what is unexamined, or may have any name", () => {
    expect(ignoredIn({ sent: { id: "1", more: 2 }, any: { thing: 1 } })).toEqual([]);
  });

  test("depend on the type of an object that is read as one of several", () => {
    expect(ignoredIn({ item: { type: "search", speed: 1 } })).toEqual(["item.speed"]);
    expect(ignoredIn({ item: { type: "other" } })).toEqual(["item"]);
  });
});
