import { describe, expect, test } from "bun:test";
import { fitToContext, type Turn } from "../../../../src/core/chat/fit-to-context.ts";
import type { ChatMessage } from "../../../../src/core/ports/chat-engine.ts";
import { passage } from "../../../support/passages.ts";

const point = (at: number) => ({ ...passage(at, [1, 0]), score: 1, store: "", file: "" });
const turn = (index: number, points = 1): Turn => ({
  index,
  points: Array.from({ length: points }, (_, at) => point(index * 100 + at)),
});

/** A passage is a token. */
async function fit(turns: readonly Turn[], contextSize: number) {
  let counts = 0;
  const engine = {
    contextSize,
    async countTokens(messages: readonly ChatMessage[]) {
      counts++;
      return messages.length;
    },
    generate: () => {
      throw new Error("Nothing is to be generated");
    },
  };
  const render = (kept: readonly Turn[]): ChatMessage[] =>
    kept.flatMap(({ points }) => points.map(({ source }) => ({ role: "user", content: source })));
  const { signal } = new AbortController();
  const conversation = { messages: [], tools: [], maxTokens: 0 };
  const kept = await fitToContext(turns, render, conversation, { engine, signal });
  return { kept, counts };
}

const turns = (count: number): Turn[] => Array.from({ length: count }, (_, at) => turn(at));

describe("passages that do not fit the context", () => {
  test("stay where they fit", async () => {
    const all = turns(10);
    expect(await fit(all, 10)).toEqual({ kept: all, counts: 1 });
  });

  test("go with their turns, the oldest first, and leave room for turns to come", async () => {
    const all = turns(11);
    expect((await fit(all, 10)).kept).toEqual(all.slice(4));
  });

  test("go one by one, the worst first, where only the last turn is left", async () => {
    const last = turn(1, 20);
    const { kept } = await fit([turn(0), last], 10);
    expect(kept).toEqual([{ ...last, points: last.points.slice(0, 10) }]);
    expect((await fit([last], 0)).kept).toEqual([{ ...last, points: [] }]);
    expect((await fit([turn(0, 0)], -1)).kept).toEqual([turn(0, 0)]);
  });

  test("are found with few counts, however many there are", async () => {
    const all = turns(1000);
    const { kept, counts } = await fit(all, 10);
    expect(kept).toEqual(all.slice(-7));
    expect(counts).toBeLessThanOrEqual(12);
  });
});
