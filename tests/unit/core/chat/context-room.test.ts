import { describe, expect, test } from "bun:test";
import {
  fitToContext,
  longerThanContext,
  promptTooLong,
  type Turn,
  truncateConversation,
} from "../../../../src/core/chat/context-room.ts";
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
  const render = (left: readonly Turn[]): ChatMessage[] =>
    left.flatMap(({ points }) => points.map(({ source }) => ({ role: "user", content: source })));
  const { signal } = new AbortController();
  const conversation = { messages: [], tools: [], maxTokens: 0 };
  const left = await fitToContext(turns, render, conversation, { engine, signal });
  return { left, counts };
}

const turns = (count: number): Turn[] => Array.from({ length: count }, (_, at) => turn(at));

describe("passages that do not fit the context", () => {
  test("stay where they fit", async () => {
    const all = turns(10);
    expect(await fit(all, 10)).toEqual({ left: all, counts: 1 });
  });

  test("go with their turns, the oldest first, and leave room for turns to come", async () => {
    const all = turns(11);
    expect((await fit(all, 10)).left).toEqual(all.slice(4));
  });

  test("go one by one, the worst first, where only the last turn is left", async () => {
    const last = turn(1, 20);
    const { left } = await fit([turn(0), last], 10);
    expect(left).toEqual([{ ...last, points: last.points.slice(0, 10) }]);
    expect((await fit([last], 0)).left).toEqual([{ ...last, points: [] }]);
    expect((await fit([turn(0, 0)], -1)).left).toEqual([turn(0, 0)]);
  });

  test("are found with few counts, however many there are", async () => {
    const all = turns(1000);
    const { left, counts } = await fit(all, 10);
    expect(left).toEqual(all.slice(-7));
    expect(counts).toBeLessThanOrEqual(12);
  });
});

const never = new AbortController().signal;
const user = (content: string): ChatMessage => ({ role: "user", content });
const said = (content: string): ChatMessage => ({ role: "assistant", content });
const told: ChatMessage = { role: "system", content: "told" };
const step = (id: string): ChatMessage[] => [
  { role: "assistant", content: "", toolCalls: [{ id, name: "look", arguments: "{}" }] },
  { role: "tool", toolCallId: id, content: "found" },
];

/** A token a message. */
function engineOf(contextSize: number) {
  const counted: number[] = [];
  return {
    contextSize,
    counted,
    countTokens: async (messages: readonly ChatMessage[]) => {
      counted.push(messages.length);
      return messages.length;
    },
  };
}

const truncated = (messages: readonly ChatMessage[], contextSize: number, maxTokens = 1) =>
  truncateConversation({ messages, tools: [], maxTokens }, engineOf(contextSize), {
    signal: never,
  });

const exchanges = (count: number): ChatMessage[] =>
  Array.from({ length: count }, (_, at) => [user(`question ${at}`), said(`answer ${at}`)]).flat();

describe("a conversation that is truncated", () => {
  test("stays as it is where it fits with room for an answer", async () => {
    const messages = [told, ...exchanges(4), user("now")];
    expect(await truncated(messages, 11)).toEqual({ left: messages, dropped: 0 });
  });

  test("loses its oldest turns, and more than it must, but not what the model is told", async () => {
    const messages = [told, ...exchanges(10), user("now")];
    const { left, dropped } = await truncated(messages, 21);
    expect(left[0]).toEqual(told);
    expect(left[1]?.role).toBe("user");
    expect(left.at(-1)).toEqual(user("now"));
    expect(left.length).toBeLessThanOrEqual(14);
    expect(left.length + dropped).toBe(messages.length);
  });

  test("keeps the current question, and then loses its oldest steps with their outputs", async () => {
    const messages = [told, ...exchanges(2), user("now"), ...["a", "b", "c", "d"].flatMap(step)];
    const { left } = await truncated(messages, 10);
    expect(left.slice(0, 2)).toEqual([told, user("now")]);
    expect(left[2]).toEqual(step("c")[0] ?? told);
    expect(left.at(-1)).toEqual(step("d")[1] ?? told);
  });

  test("is as short as it can be where nothing fits", async () => {
    const { left } = await truncated([told, ...exchanges(3), user("now")], 2);
    expect(left).toEqual([told, user("now")]);
  });

  test("is counted a few times, however long it is", async () => {
    const engine = engineOf(50);
    const messages = exchanges(1000);
    await truncateConversation({ messages, tools: [], maxTokens: undefined }, engine, {
      signal: never,
    });
    expect(engine.counted.length).toBeLessThan(15);
  });
});

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
])("a prompt that is too long and was %s is rejected", (_, error, param, words) => {
  expect(error).toMatchObject({ kind: "context_length_exceeded", subject: { part: param } });
  expect(error.message).toStartWith(words);
  expect(error.message).toEndWith(`Shorten the ${param}.`);
});
