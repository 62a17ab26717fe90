/** The request that a conversation makes. */
import type { Conversation, Turn } from "./conversation.ts";

/** `turns`: those up to the question that is asked. */
export function toRequest({ settings }: Conversation, turns: readonly Turn[]) {
  const { model, system, grounded, passages, ...sampling } = settings;
  return {
    model,
    stream: true,
    stream_options: { include_usage: true },
    ...sampling,
    // Said both ways, so that the switch holds on a node that grounds every chat.
    rag: grounded && passages !== undefined ? { limit: passages } : grounded,
    messages: [
      ...(system.trim() === "" ? [] : [{ role: "system", content: system }]),
      ...turns
        .filter(({ role, content }) => role === "user" || content !== "")
        .map(({ role, content }) => ({ role, content })),
    ],
  };
}
