import { describe, expect, test } from "bun:test";
import {
  logPrompt,
  requestId,
  requestIdHeader,
} from "../../../../src/server/middleware/request-log.ts";
import { recordingLog } from "../../../support/recording-log.ts";

const idFor = (offered?: string): string =>
  requestId(
    new Request("http://localhost/", {
      headers: offered === undefined ? {} : { [requestIdHeader]: offered },
    }),
  );

const made = /^req_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

describe("a request's id", () => {
  test.each(["a", "Trace-1.2_3", "x".repeat(128)])("is the caller's own: %s", (offered) => {
    expect(idFor(offered)).toBe(offered);
  });

  test.each([undefined, "", "two words", "a;b", '{"a":1}', "<b>", "é", "x".repeat(129)])(
    "is a new one where the caller's is missing or of no use: %s",
    (offered) => {
      expect(idFor(offered)).toMatch(made);
    },
  );

  test("is new each time", () => {
    expect(idFor()).not.toBe(idFor());
  });
});

test("a line of the log holds as much of a prompt as it has room for, and says what is left out", () => {
  const { log, lines } = recordingLog();
  const messages = Array.from({ length: 5000 }, () => ({ role: "user", content: "hello" }));
  logPrompt(log, "a prompt", "id", { model: "m", messages });
  logPrompt(log, "a prompt", "id", { model: "m", input: ["x ".repeat(5e5), "y"] });
  logPrompt(log, "an answer", "id", { texts: ["as it is"] });
  const fields = lines.map((line) => line.fields);
  expect(JSON.stringify(fields[0]).length).toBeLessThan(100_000);
  expect(JSON.stringify(fields[0])).toMatch(/… \(4\d{3} more\)/);
  expect(fields[1]).toMatchObject({
    input: [`${"x ".repeat(32_768).slice(0, 65_535)}… (934465 characters more)`, "… (1 more)"],
  });
  expect(fields[2]).toMatchObject({ texts: ["as it is"] });
});
