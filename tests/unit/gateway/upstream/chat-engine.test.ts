import { describe, expect, test } from "bun:test";
import type { ChatMessage } from "../../../../src/core/ports/chat-engine.ts";
import { promptPrefix } from "../../../../src/gateway/upstream/chat-engine.ts";

const system: ChatMessage = { role: "system", content: "Be brief." };
const user = (content: string): ChatMessage => ({ role: "user", content });
const first = [system, user("Hello")];

describe("the prefix of a conversation", () => {
  const prefix = promptPrefix(first, { model: "m", scope: "ada" });

  test("stays the same from turn to turn", () => {
    const later = [...first, { role: "assistant", content: "Hi." } as const, user("More")];
    expect(promptPrefix(later, { model: "m", scope: "ada" })).toBe(prefix);
    expect(prefix).toMatch(/^[0-9a-f]{64}$/);
  });

  test.each([
    ["another scope", first, { model: "m", scope: "bob" }],
    ["no scope", first, { model: "m" }],
    ["another model", first, { model: "n", scope: "ada" }],
    ["another system message", [user("Hello")], { model: "m", scope: "ada" }],
    ["another question", [system, user("Hello!")], { model: "m", scope: "ada" }],
  ])("is another one with %s", (_, messages, options) => {
    expect(promptPrefix(messages, options)).not.toBe(prefix);
  });
});
