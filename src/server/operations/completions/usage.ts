/** Tokens that the answers to several prompts used. */
import type { TokenUsage } from "../../../core/ports/chat-engine.ts";
import { toUsage, type Usage } from "../../wire/usage.ts";

/** `each`: answers of a prompt, which counts once for them. */
export function sumUsage(usages: readonly TokenUsage[], each: number): Usage {
  const ofPrompts = Array.from({ length: usages.length / each }, (_, at) =>
    toUsage(usages.slice(at * each, (at + 1) * each)),
  );
  const sum = (of: (usage: Usage) => number): number =>
    ofPrompts.reduce((total, usage) => total + of(usage), 0);
  return {
    prompt_tokens: sum((usage) => usage.prompt_tokens),
    completion_tokens: sum((usage) => usage.completion_tokens),
    total_tokens: sum((usage) => usage.total_tokens),
    prompt_tokens_details: {
      cached_tokens: sum((usage) => usage.prompt_tokens_details.cached_tokens),
    },
    completion_tokens_details: {
      reasoning_tokens: sum((usage) => usage.completion_tokens_details.reasoning_tokens),
    },
  };
}
