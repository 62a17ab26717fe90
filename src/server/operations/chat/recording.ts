/** Keeps what an answer says while it comes, also where it does not come to its end. */
import type { ChatAnswer } from "../../../core/chat/chat-service.ts";

/** The same answer; `keep` hears once the text of each choice, calls of tools included. */
export function recorded(answer: ChatAnswer, keep: (texts: string[]) => void): ChatAnswer {
  return { ...answer, events: recordedEvents(answer, keep) };
}

async function* recordedEvents(
  { events, choices }: ChatAnswer,
  keep: (texts: string[]) => void,
): ChatAnswer["events"] {
  const texts = Array.from({ length: choices }, () => "");
  try {
    for await (const event of events) {
      const { index, value } = event;
      const more = "text" in value ? value.text : value.type === "tool-call" ? value.name : "";
      texts[index] = (texts[index] ?? "") + more;
      yield event;
    }
  } finally {
    keep(texts);
  }
}
