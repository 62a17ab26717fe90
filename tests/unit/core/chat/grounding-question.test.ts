import { describe, expect, test } from "bun:test";
import { leansOnBefore, questionOf } from "../../../../src/core/chat/grounding.ts";
import type { ChatMessage } from "../../../../src/core/ports/chat-engine.ts";
import type { EmbeddingInput } from "../../../../src/core/ports/embedding-engine.ts";
import { ScriptedEmbeddingEngine } from "../../../support/scripted-engines.ts";

class CountingEngine extends ScriptedEmbeddingEngine {
  /** Characters that were counted, all calls together. */
  counted = 0;

  override async countTokens(inputs: readonly EmbeddingInput[]): Promise<number[]> {
    for (const input of inputs) this.counted += input.length;
    return await super.countTokens(inputs);
  }
}

const { signal } = new AbortController();

describe("the question of a conversation with a message far too long", () => {
  test("is the end of that message, and most of it is never counted", async () => {
    const engine = new CountingEngine();
    const content = `${"word ".repeat(200_000)}what hums?`;
    const messages = Array.from({ length: 5 }, () => ({ role: "user", content }) as const);
    const question = await questionOf(messages, 5, engine, { prefix: "", signal });
    expect(question).toEqual({
      text: "word word word word word word what hums?",
      shortened: true,
      messages: 1,
    });
    expect(engine.counted).toBeLessThan(content.length / 10);
  });
});

const user = (content: string): ChatMessage => ({ role: "user", content });

test.each([
  ["one long message", 1, [user("a b c ".repeat(100_000))]],
  ["many messages", 100, Array.from({ length: 100 }, () => user("a ".repeat(50_000)))],
])("the question of %s is found without counting what cannot fit", async (_, window, messages) => {
  const engine = new CountingEngine();
  const question = await questionOf(messages, window, engine, { prefix: "", signal });
  expect(question.shortened).toBe(true);
  expect(question.text.trim().split(" ").length).toBeLessThanOrEqual(engine.maxTokens);
  // The engine takes 8 tokens: some hundred characters.
  expect(engine.counted).toBeLessThan(10_000);
});

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
