import { expect, test } from "bun:test";
import { errorFields } from "../../../src/cli/log.ts";

const caught = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch (error) {
    return error;
  }
};

test("an error is logged with its type, message, place and causes", () => {
  const fields = errorFields(new TypeError("broken", { cause: new Error("why") }));
  expect(fields).toEqual({
    type: "TypeError",
    message: "broken",
    stack: expect.arrayContaining([expect.stringContaining("log.test.ts")]),
    cause: { type: "Error", message: "why", stack: expect.any(Array) },
  });
});

test.each<[string, unknown]>([
  ["fields that a library put there", Object.assign(new Error("no"), { request: "hunter2" })],
  ["what a parser quotes", caught('{"key": hunter2}')],
  ["what a parser quotes, as a cause", new Error("no", { cause: caught('"a" hunter2') })],
  ["a thrown text", "hunter2"],
  ["a thrown object", { key: "hunter2" }],
  [
    "the first line of a stack",
    Object.assign(new Error("no"), { stack: "Error: hunter2\n  at x" }),
  ],
])("an error is logged without %s", (_, error) => {
  expect(JSON.stringify(errorFields(error))).not.toContain("hunter2");
});

test("an error that is its own cause, or is very long, has an end", () => {
  const error = new Error("x".repeat(10_000));
  error.cause = error;
  expect(JSON.stringify(errorFields(error)).length).toBeLessThan(20_000);
});
