import { expect, test } from "bun:test";
import { PromptLog } from "../../../../src/server/middleware/prompt-log.ts";
import { recordingLog } from "../../../support/recording-log.ts";

test("a line of the log holds as much of a prompt as it has room for, and says what is left out", () => {
  const { log, lines } = recordingLog();
  const messages = Array.from({ length: 5000 }, () => ({ role: "user", content: "hello" }));
  new PromptLog(log).asked("id", { model: "m", messages });
  new PromptLog(log).asked("id", { model: "m", input: ["x".repeat(1e6), "y"] });
  new PromptLog(log).answered("id", { texts: ["as it is"] });
  const fields = lines.map((line) => line.fields);
  expect(JSON.stringify(fields[0]).length).toBeLessThan(100_000);
  expect(JSON.stringify(fields[0])).toMatch(/… \(4\d{3} more\)/);
  expect(fields[1]).toMatchObject({
    input: [`${"x".repeat(65_535)}… (934465 characters more)`, "… (1 more)"],
  });
  expect(fields[2]).toMatchObject({ texts: ["as it is"] });
});
