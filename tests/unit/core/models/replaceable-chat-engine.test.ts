import { describe, expect, test } from "bun:test";
import { ReplaceableChatEngine } from "../../../../src/core/models/replaceable-chat-engine.ts";
import type { ChatEngine, GenerationEvent } from "../../../../src/core/ports/chat-engine.ts";
import { collect } from "../../../support/collect.ts";
import { greedy } from "../../../support/greedy.ts";
import { finish } from "../../../support/scripted-engines.ts";

/** An engine that says its name, once it may. */
function named(name: string, gate: Promise<void> = Promise.resolve()): ChatEngine {
  return {
    contextSize: name.length,
    countTokens: async () => name.length,
    async *generate(): AsyncGenerator<GenerationEvent> {
      await gate;
      yield { type: "text", text: name };
      yield finish;
    },
  };
}

const request = { messages: [], sampling: greedy };
const options = { signal: new AbortController().signal };

describe("an engine that is replaced", () => {
  test("ends the calls that it has, and gets no new ones", async () => {
    const gate = Promise.withResolvers<void>();
    const engine = new ReplaceableChatEngine(named("old", gate.promise));
    const before = collect(engine.generate(request, options));
    let isOver = false;
    const over = engine.replaceBy(named("newer")).then(() => {
      isOver = true;
    });
    expect(await collect(engine.generate(request, options))).toContainEqual({
      type: "text",
      text: "newer",
    });
    expect([engine.contextSize, await engine.countTokens([])]).toEqual([5, 5]);
    expect(isOver).toBe(false);
    gate.resolve();
    expect(await before).toContainEqual({ type: "text", text: "old" });
    await over;
  });

  test("is over at once where it has no call", async () => {
    const engine = new ReplaceableChatEngine(named("old"));
    await collect(engine.generate(request, options));
    await engine.replaceBy(named("newer"));
    expect(engine.contextSize).toBe(5);
  });

  test("is over when a reader leaves its last call", async () => {
    const engine = new ReplaceableChatEngine(named("old"));
    const iterator = engine.generate(request, options)[Symbol.asyncIterator]();
    await iterator.next();
    const over = engine.replaceBy(named("newer"));
    await iterator.return?.(undefined);
    await over;
    expect(engine.contextSize).toBe(5);
  });
});
