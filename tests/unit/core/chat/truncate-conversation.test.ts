import { describe, expect, test } from "bun:test";
import { truncateConversation } from "../../../../src/core/chat/truncate-conversation.ts";
import type { ChatMessage } from "../../../../src/core/ports/chat-engine.ts";

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

const fit = (messages: readonly ChatMessage[], contextSize: number, maxTokens = 1) =>
  truncateConversation({ messages, tools: [], maxTokens }, engineOf(contextSize), never);

const turns = (count: number): ChatMessage[] =>
  Array.from({ length: count }, (_, at) => [user(`question ${at}`), said(`answer ${at}`)]).flat();

describe("a conversation that is truncated", () => {
  test("stays as it is where it fits with room for an answer", async () => {
    const messages = [told, ...turns(4), user("now")];
    expect(await fit(messages, 11)).toEqual({ kept: messages, dropped: 0 });
  });

  test("loses its oldest turns, and more than it must, but not what the model is told", async () => {
    const messages = [told, ...turns(10), user("now")];
    const { kept, dropped } = await fit(messages, 21);
    expect(kept[0]).toEqual(told);
    expect(kept[1]?.role).toBe("user");
    expect(kept.at(-1)).toEqual(user("now"));
    expect(kept.length).toBeLessThanOrEqual(14);
    expect(kept.length + dropped).toBe(messages.length);
  });

  test("keeps the current question, and then loses its oldest steps with their outputs", async () => {
    const messages = [told, ...turns(2), user("now"), ...["a", "b", "c", "d"].flatMap(step)];
    const { kept } = await fit(messages, 10);
    expect(kept.slice(0, 2)).toEqual([told, user("now")]);
    expect(kept[2]).toEqual(step("c")[0] ?? told);
    expect(kept.at(-1)).toEqual(step("d")[1] ?? told);
  });

  test("is as short as it can be where nothing fits", async () => {
    const { kept } = await fit([told, ...turns(3), user("now")], 2);
    expect(kept).toEqual([told, user("now")]);
  });

  test("is counted a few times, however long it is", async () => {
    const engine = engineOf(50);
    const messages = turns(1000);
    await truncateConversation({ messages, tools: [], maxTokens: undefined }, engine, never);
    expect(engine.counted.length).toBeLessThan(15);
  });
});
