/** Tokens that were used, as the OpenAI API's completions report them. */
import { type Static, Type as T } from "@sinclair/typebox";
import type { TokenUsage } from "../../core/ports/chat-engine.ts";

const count = T.Integer({ minimum: 0 });

export const Usage = T.Object({
  prompt_tokens: count,
  completion_tokens: count,
  total_tokens: count,
  prompt_tokens_details: T.Object({
    cached_tokens: T.Integer({ minimum: 0, description: "Those that needed no evaluation." }),
  }),
  completion_tokens_details: T.Object({
    reasoning_tokens: T.Integer({ minimum: 0, description: "Those that were thoughts." }),
  }),
});

export type Usage = Static<typeof Usage>;

/** Of several answers to one prompt the prompt counts once; what one had to evaluate was not cached. */
export function toUsage(usages: readonly TokenUsage[]): Usage {
  const sum = (of: (usage: TokenUsage) => number): number =>
    usages.reduce((total, usage) => total + of(usage), 0);
  const prompt = usages[0]?.promptTokens ?? 0;
  const completion = sum(({ completionTokens }) => completionTokens);
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: {
      cached_tokens: Math.min(...usages.map(({ cachedTokens }) => cachedTokens)),
    },
    completion_tokens_details: {
      reasoning_tokens: sum(({ reasoningTokens }) => reasoningTokens),
    },
  };
}
