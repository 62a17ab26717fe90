/** Messages as chat and retrieval take them. */
import { type Static, Type as T } from "@sinclair/typebox";
import { NodeError } from "../core/errors.ts";
import type { ChatMessage } from "../core/ports/chat-engine.ts";

const TextPart = T.Object({ type: T.Literal("text"), text: T.String() });

const Message = T.Object(
  {
    role: T.Union([T.Literal("system"), T.Literal("user"), T.Literal("assistant")]),
    content: T.Union([T.String(), T.Array(TextPart, { minItems: 1 })], {
      "x-expected": "a string or a list of text parts",
      description: "Text, or a list of text parts that are joined.",
    }),
  },
  { additionalProperties: true },
);

export const Messages = T.Array(Message, {
  minItems: 1,
  description:
    "The conversation so far. At least one message is the user's; a system message is optional.",
});

export type Messages = Static<typeof Messages>;

export function toChatMessages(messages: Messages): ChatMessage[] {
  if (!messages.some(({ role }) => role === "user")) {
    throw new NodeError("invalid_request", "'messages' needs a message with the role 'user'.", {
      param: "messages",
    });
  }
  return messages.map(({ role, content }) => ({ role, content: toText(content) }));
}

function toText(content: Messages[number]["content"]): string {
  return typeof content === "string" ? content : content.map(({ text }) => text).join("");
}
