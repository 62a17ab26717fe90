import { describe, expect, test } from "bun:test";
import type { GenerationEvent } from "../../../src/core/ports/chat-engine.ts";
import { type CallItem, type FromRunner, initialCredits } from "../../../src/runner/protocol.ts";
import { CallsInProgress } from "../../../src/runner/serve-calls.ts";
import { greedy } from "../../support/greedy.ts";
import { finish, ScriptedChatEngine } from "../../support/scripted-engines.ts";
import { chatModel } from "../../support/test-models.ts";
import { waitFor } from "../../support/wait-for.ts";

const text = (at: number): GenerationEvent => ({ type: "text", text: `${at} ` });
const generate = { type: "generate", request: { messages: [], sampling: greedy } } as const;

function runner() {
  const engine = new ScriptedChatEngine();
  const messages: FromRunner[] = [];
  const calls = new CallsInProgress(chatModel("chatty", engine), (message) =>
    messages.push(message),
  );
  const items = (): { id: number; item: CallItem }[] =>
    messages.flatMap((message) => (message.type === "items" ? message.items : []));
  const events = (id: number): number =>
    items().filter((sent) => sent.id === id && sent.item.type === "event").length;
  return { engine, messages, calls, items, events };
}

describe("a runner's calls", () => {
  test("send what comes at once in one message", async () => {
    const { engine, calls, messages, items } = runner();
    engine.script(text(1), text(2), finish);
    calls.start(7, generate);
    await waitFor("the end", () => items().some(({ item }) => item.type === "end"));
    expect(items().map(({ item }) => item.type)).toEqual([
      "start",
      "event",
      "event",
      "event",
      "end",
    ]);
    expect(messages).toHaveLength(1);
  });

  test("send log probabilities as one text, of which a long prompt has many", async () => {
    const { engine, calls, items } = runner();
    const token = { token: "a", logprob: -1, bytes: [97], top: [] };
    const scored = { type: "text", text: "a", logprobs: [token], echoed: true } as const;
    engine.script(scored, finish);
    calls.start(1, generate);
    await waitFor("the end", () => items().some(({ item }) => item.type === "end"));
    expect(items()[1]).toEqual({
      id: 1,
      item: { type: "scored", event: JSON.stringify(scored) },
    });
  });

  test("stay so many events ahead of their reader, and go on as it reads", async () => {
    const { engine, calls, items, events } = runner();
    engine.script(...Array.from({ length: initialCredits * 2 }, (_, at) => text(at)), finish);
    calls.start(1, generate);
    await waitFor("the events that there is room for", () => events(1) === initialCredits);
    calls.credit(1, 10);
    await waitFor("ten more", () => events(1) === initialCredits + 10);
    calls.credit(1, initialCredits);
    await waitFor("the end", () => items().some(({ item }) => item.type === "end"));
    expect(events(1)).toBe(initialCredits * 2 + 1);
  });

  test("that are cancelled while they wait for their reader end, and free what they hold", async () => {
    const { engine, calls, events } = runner();
    engine.script(...Array.from({ length: initialCredits * 2 }, (_, at) => text(at)), finish);
    calls.start(1, generate);
    await waitFor("the events that there is room for", () => events(1) === initialCredits);
    calls.cancel(1);
    await waitFor("the end of the generation", () => engine.ended === 1);
    expect(events(1)).toBe(initialCredits);
  });

  test("that fail say how, with the kind that the node knows", async () => {
    const { engine, calls, items } = runner();
    engine.script(new Error("out of luck"));
    calls.start(1, generate);
    calls.start(2, { type: "embed", inputs: ["a"] });
    await waitFor("both errors", () => items().length === 3);
    expect(items().filter(({ item }) => item.type === "error")).toEqual([
      {
        id: 2,
        item: {
          type: "error",
          error: {
            kind: "internal",
            message: "A runner of type 'chat' was asked to 'embed'.",
          },
        },
      },
      { id: 1, item: { type: "error", error: { message: "out of luck" } } },
    ]);
  });
});
