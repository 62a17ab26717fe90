/** Passages in a conversation: each with a marker that the answer can cite. */
import type { ChatMessage } from "../ports/chat-engine.ts";
import type { ScoredPassage } from "../ports/passage-repository.ts";

/** A user message's content with its passages before it, numbered from `first`; without any, as it is. */
export function groundedContent(
  content: string,
  prompt: string,
  points: readonly ScoredPassage[],
  first: number,
): string {
  return points.length === 0 ? content : `${passageText(prompt, points, first)}\n\n${content}`;
}

/** The conversation with the passages at the end of its system message, which is made where there is none. */
export function groundedSystem(
  messages: readonly ChatMessage[],
  prompt: string,
  points: readonly ScoredPassage[],
): readonly ChatMessage[] {
  if (points.length === 0) return messages;
  const text = passageText(prompt, points, 1);
  const at = messages.findIndex(({ role }) => role === "system");
  if (at === -1) return [{ role: "system", content: text }, ...messages];
  return messages.map((message, index) =>
    index === at ? { role: "system", content: `${message.content}\n\n${text}` } : message,
  );
}

function passageText(prompt: string, points: readonly ScoredPassage[], first: number): string {
  const passages = points.map(({ document, source }, index) => {
    const marker = `[${first + index}]`;
    return document === "" ? `${marker} ${source}` : `${marker} ${document}\n${source}`;
  });
  return [...passages, prompt].join("\n\n");
}
