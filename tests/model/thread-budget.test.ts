import { describe, expect, test } from "bun:test";
import { calibrateThreads } from "../../src/engine/machine/calibrate-threads.ts";
import { threadBudget } from "../../src/engine/machine/thread-budget.ts";
import { greedy } from "../support/greedy.ts";
import { testBackend, tinyChatModel, tinyEmbeddingModel } from "../support/tiny-engines.ts";
import { tinyModels } from "../support/tiny-models.ts";

describe("the thread budget", () => {
  test("is what llama.cpp is opened with, and chat and embeddings share it", async () => {
    const { llama, threads } = await testBackend();
    expect(threads).toBe((await threadBudget(0)).threads);
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

  test("is never exceeded by what a model is measured to like", async () => {
    const { llama, threads } = await testBackend();
    const { chat } = await tinyModels();
    const model = await llama.loadModel({ modelPath: chat });
    const choice = await calibrateThreads({ threads }, model);
    await model.dispose();
    for (const chosen of Object.values(choice.threads)) {
      expect(chosen).toBeGreaterThanOrEqual(1);
      expect(chosen).toBeLessThanOrEqual(threads);
    }
    expect(await calibrateThreads({ threads: 1 }, model)).toEqual({
      threads: { one: 1, few: 1 },
      reason: "the budget is one",
    });
  });
});

function activeThreads(splitter: unknown): number {
  if (typeof splitter !== "object" || splitter === null) return 0;
  const active: unknown = Reflect.get(splitter, "_activeThreads");
  return typeof active === "number" ? active : 0;
}
