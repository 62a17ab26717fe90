import { describe, expect, test } from "bun:test";
import { threadBudget } from "../../src/engine/machine/machine.ts";
import { greedy } from "../support/greedy.ts";
import { testBackend, tinyChatModel, tinyEmbeddingModel } from "../support/tiny-engines.ts";

describe("the thread budget", () => {
  test("is what llama.cpp is opened with, and chat and embeddings share it", async () => {
    const { llama, threads } = await testBackend();
    expect(threads).toBe((await threadBudget(1)).threads);
    expect(llama.maxThreads).toBe(threads);
    await using chat = await tinyChatModel();
    await using embedding = await tinyEmbeddingModel();
    const { signal } = new AbortController();
    const messages = [{ role: "user", content: "Both at once" }] as const;
    // The library hands threads out of one budget to every context that evaluates.
    const splitter: unknown = Reflect.get(llama, "_threadsSplitter");
    let most = 0;
    const watch = setInterval(() => {
      most = Math.max(most, activeThreads(splitter));
    }, 0);
    await Promise.all([
      Array.fromAsync(
        chat.engine.generate({ messages, sampling: greedy, maxTokens: 100 }, { signal }),
      ),
      embedding.engine.embed(
        Array.from({ length: 200 }, (_, at) => `text ${at}`),
        { signal },
      ),
    ]);
    clearInterval(watch);
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThanOrEqual(threads);
  });
});

function activeThreads(splitter: unknown): number {
  if (typeof splitter !== "object" || splitter === null) return 0;
  const active: unknown = Reflect.get(splitter, "_activeThreads");
  return typeof active === "number" ? active : 0;
}
