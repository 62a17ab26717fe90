import { expect, test } from "bun:test";
import { longerThanContext, promptTooLong } from "../../../../src/core/chat/input-length.ts";

test.each([
  ["counted", promptTooLong(130, 128), "messages", "The messages have 130 tokens; with room for"],
  [
    "not counted to its end",
    promptTooLong("more", 128, "prompt"),
    "prompt",
    "The prompt has more than 128 tokens;",
  ],
  [
    "not counted",
    longerThanContext(128, "prompt"),
    "prompt",
    "The prompt has more tokens than this model's context of 128 holds.",
  ],
])("a prompt that is too long and was %s is refused by name", (_, error, param, words) => {
  expect(error).toMatchObject({ kind: "context_length_exceeded", param });
  expect(error.message).toStartWith(words);
  expect(error.message).toEndWith(`Shorten the ${param}.`);
});
