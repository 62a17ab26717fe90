import { describe, expect, test } from "bun:test";
import type { Machine } from "../../../../src/engine/machine/machine.ts";
import { pickChatModel } from "../../../../src/engine/machine/pick-chat-model.ts";
import { largeChat, smallChat, smallEmbedding } from "../../../support/model-facts.ts";

const machine = (memory: number): Machine => ({
  memory: memory * 1e9,
  availableMemory: 0,
  memoryBound: "machine",
});

describe("the model of a node that names none", () => {
  test.each([
    [2, undefined],
    [8, "small"],
    [16, "large"],
    [64, "large"],
  ])("is the largest that leaves room on %p GB: %p", (memory, name) => {
    const picked = pickChatModel([smallChat, largeChat, smallEmbedding], machine(memory), 4);
    expect(picked?.name).toBe(name);
  });

  test("is one that can chat", () => {
    const wordless = { ...largeChat, hasChatTemplate: false };
    expect(pickChatModel([wordless, smallEmbedding], machine(64), 4)).toBeUndefined();
  });

  test("is, of one model in two forms, the better one", () => {
    const coarse = { ...smallChat, name: "coarse", bytes: 400_000_000 };
    expect(pickChatModel([coarse, smallChat], machine(64), 4)).toBe(smallChat);
  });
});
