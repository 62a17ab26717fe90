/** The request that a conversation makes. */
import type { ChatRequest } from "../../client/api-client.ts";
import type { Conversation, Turn } from "./conversation.ts";

/** `turns`: those up to the question that is asked. */
export function toRequest({ settings }: Conversation, turns: readonly Turn[]): ChatRequest {
  const { model, system, grounded, passages, ...sampling } = settings;
  return {
    model,
    stream_options: { include_usage: true },
    ...sampling,
    // `false` is sent too: a node may be configured to ground every chat.
    rag: grounded && passages !== undefined ? { limit: passages } : grounded,
    messages: [
      ...(system.trim() === "" ? [] : [{ role: "system" as const, content: system }]),
      ...turns
        .filter(({ role, content }) => role === "user" || content !== "")
        .map(({ role, content }) => ({ role, content })),
    ],
  };
}
