/** Keeps what an answer says while it comes, also where it does not come to its end. */
import type { ChatAnswer } from "../../core/chat/chat-service.ts";
import type { RequestContext } from "../request-context.ts";

/** The same answer; the prompt log will have the text of each choice, calls of tools included. */
export function recorded(
  answer: ChatAnswer,
  context: Pick<RequestContext, "loggedAnswer">,
): ChatAnswer {
  const texts = Array.from({ length: answer.choices }, () => "");
  context.loggedAnswer = () => ({ texts });
  return { ...answer, events: recordedEvents(answer.events, texts) };
}

async function* recordedEvents(
  events: ChatAnswer["events"],
  texts: string[],
): ChatAnswer["events"] {
  for await (const event of events) {
    const { index, value } = event;
    const more = "text" in value ? value.text : value.type === "tool-call" ? value.name : "";
    texts[index] = (texts[index] ?? "") + more;
    yield event;
  }
}
