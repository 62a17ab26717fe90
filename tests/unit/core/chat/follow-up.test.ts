import { describe, expect, test } from "bun:test";
import { leansOnBefore } from "../../../../src/core/chat/follow-up.ts";

describe("a message", () => {
  test.each([
    "And how much does it cost?",
    "What about Windows?",
    "Why?",
    "Is it slower?",
    "How do I revoke them?",
    "For which platforms?",
    "Wie lange?",
    "多少钱？",
  ])("leans on what was before: %s", (text) => {
    expect(leansOnBefore(text)).toBe(true);
  });

  test.each([
    "How do I add an API key?",
    "Which documents can I ingest?",
    "How many threads should the node use?",
    "市立图书馆的借书证在哪里办理？",
    `It is long, and so says what it is about: ${"how the node finds passages ".repeat(4)}`,
    "Android phones and tablets",
  ])("says by itself what it is about: %s", (text) => {
    expect(leansOnBefore(text)).toBe(false);
  });
});
