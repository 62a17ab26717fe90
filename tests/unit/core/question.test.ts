import { expect, test } from "bun:test";
import type { ChatMessage } from "../../../src/core/ports/chat-engine.ts";
import { questionOf } from "../../../src/core/question.ts";
import { ScriptedEmbeddingEngine } from "../../support/scripted-engines.ts";

const user = (content: string): ChatMessage => ({ role: "user", content });

test.each([
  ["one long message", 1, [user("a b c ".repeat(100_000))]],
  ["many messages", 100, Array.from({ length: 100 }, () => user("a ".repeat(50_000)))],
])("the question of %s is found without counting what cannot fit", async (_, window, messages) => {
  let counted = 0;
  class CountingEngine extends ScriptedEmbeddingEngine {
    override async countTokens(inputs: readonly string[]): Promise<number[]> {
      for (const { length } of inputs) counted += length;
      return await super.countTokens(inputs);
    }
  }
  const engine = new CountingEngine();
  const { signal } = new AbortController();
  const question = await questionOf(messages, window, engine, { prefix: "", signal });
  expect(question.shortened).toBe(true);
  expect(question.text.trim().split(" ").length).toBeLessThanOrEqual(engine.maxTokens);
  // The engine takes 8 tokens: some hundred characters.
  expect(counted).toBeLessThan(10_000);
});
