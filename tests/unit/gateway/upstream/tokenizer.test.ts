import { describe, expect, test } from "bun:test";
import type { ChatMessage } from "../../../../src/core/ports/chat-engine.ts";
import { TokenEstimate } from "../../../../src/gateway/upstream/tokenizer.ts";

const user = (content: string): ChatMessage => ({ role: "user", content });

describe("an estimate of tokens", () => {
  const long = [user("some words of a longer question ".repeat(20))];

  test("is twice what English has, and more for what is around messages", () => {
    const estimate = new TokenEstimate();
    expect(estimate.ofText("word".repeat(100))).toBe(200);
    expect(estimate.ofChat([user("")])).toBe(24);
    expect(estimate.ofChat(long, [{ name: "look" }])).toBeGreaterThan(estimate.ofChat(long));
  });

  test("rises to what a server counts, and never falls", () => {
    const estimate = new TokenEstimate();
    const before = estimate.ofChat(long);
    estimate.learn(long, [], 640);
    expect(estimate.ofChat(long)).toBeGreaterThanOrEqual(640);
    const learnt = estimate.ofChat(long);
    estimate.learn(long, [], 100);
    estimate.learn([user("x")], [], 5000);
    expect([before < learnt, estimate.ofChat(long)]).toEqual([true, learnt]);
  });

  test("believes no server that counts more tokens than there are bytes", () => {
    const estimate = new TokenEstimate();
    estimate.learn(long, [], Number.MAX_SAFE_INTEGER);
    const bytes = long[0]?.content.length ?? 0;
    expect(estimate.ofText(long[0]?.content ?? "")).toBe(bytes);
  });
});
