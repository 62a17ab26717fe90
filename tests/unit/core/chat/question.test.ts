import { describe, expect, test } from "bun:test";
import { questionOf } from "../../../../src/core/chat/question.ts";
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
