import { expect, test } from "bun:test";
import type { ChatCompletionChunk } from "../../../../src/client/wire.ts";
import { hasText, withChunk } from "../../../../src/web/chat/answer-turn.ts";
import type { AnswerTurn } from "../../../../src/web/chat/conversation.ts";

type Choice = ChatCompletionChunk["choices"][number];

const begun: AnswerTurn = { id: "1", role: "assistant", content: "", model: "m", state: "writing" };
const timing = { firstTokenMs: 20, restMs: 30 };

const chunk = (
  delta: Choice["delta"],
  rest: Partial<ChatCompletionChunk> = {},
  reason: Choice["finish_reason"] = null,
): ChatCompletionChunk => ({
  id: "chatcmpl-1",
  object: "chat.completion.chunk",
  created: 0,
  model: "m",
  system_fingerprint: "fp_0",
  choices: [{ index: 0, delta, logprobs: null, finish_reason: reason }],
  ...rest,
});

test("an answer grows by text and thoughts, and ends with its reason, its counts and its sources", () => {
  const usage = {
    prompt_tokens: 5,
    completion_tokens: 3,
    total_tokens: 8,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 1 },
  };
  const retrieval = { points: [], dropped: 0 };
  const chunks = [
    chunk({ role: "assistant" }, { retrieval }),
    chunk({ reasoning_content: "h" }),
    chunk({ reasoning_content: "m" }),
    chunk({ content: "Hu" }),
    chunk({ content: "m." }, {}, "length"),
    chunk({}, { choices: [], usage }),
  ];
  expect(chunks.map(hasText)).toEqual([false, true, true, true, true, false]);
  expect(chunks.reduce((turn, one) => withChunk(turn, one, timing), begun)).toEqual({
    ...begun,
    thoughts: "hm",
    content: "Hum.",
    cut: true,
    retrieval,
    measures: { promptTokens: 5, tokens: 3, firstTokenMs: 20, restMs: 30 },
  });
});

test("an answer that ends by itself is not cut", () => {
  expect(withChunk(begun, chunk({}, {}, "stop"), timing)).toEqual({ ...begun, cut: false });
});

test("a chunk that brings the role alone leaves the answer as it is", () => {
  expect(withChunk(begun, chunk({ role: "assistant" }), timing)).toBe(begun);
});
