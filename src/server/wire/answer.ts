/** What every API does when an answer begins: the caller's options, what is ignored, the prompt log. */
import type { ChatAnswer, ChatRequest, ChatService } from "../../core/chat/chat-service.ts";
import type { Grounding } from "../../core/chat/rag.ts";
import { given } from "../../core/given.ts";
import type { Log } from "../../core/log.ts";
import type { CallOptions } from "../../core/ports/chat-engine.ts";
import { redactPaths } from "../middleware/errors.ts";
import { announceIgnored } from "../middleware/ignored-fields.ts";
import type { RequestContext } from "../request-context.ts";
import { wireName } from "./generation-fields.ts";
import { type RetrievalReport, toPointMetadata } from "./grounding.ts";

export interface ChatNeeds {
  chat: ChatService;
  log: Log;
}

/** With the caller's place, limits and vector stores; what the model does not act on is announced. */
export async function beginAnswer(
  request: ChatRequest,
  context: RequestContext,
  { chat, log }: ChatNeeds,
  { onStart }: Pick<CallOptions, "onStart"> = {},
): Promise<ChatAnswer> {
  const asked = { ...request, searcher: context.authenticated };
  return await beginWith(
    (options) => chat.answer(asked, { ...options, ...given({ onStart }) }),
    context,
    log,
  );
}

/** The same for what `begin` asks, of any service. */
export async function beginWith(
  begin: (options: Omit<CallOptions, "onStart">) => ChatAnswer | Promise<ChatAnswer>,
  context: RequestContext,
  log: Log,
): Promise<ChatAnswer> {
  const { signal, report, lease } = context;
  const { caller, prefixScope } = lease;
  const begun = await begin({ signal, caller, ...given({ prefixScope }), report });
  announceIgnored(begun.ignored.map(wireName), context, log);
  // Nothing stands between the model and the reader unless prompts are logged.
  return context.logsPrompts ? recorded(begun, context) : begun;
}

/** The same answer; the prompt log will have the text of each choice, also where it does not come to its end. */
function recorded(answer: ChatAnswer, context: Pick<RequestContext, "loggedAnswer">): ChatAnswer {
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

export function toRetrievalReport(grounding: Grounding): RetrievalReport {
  const { points, dropped, carried, error, notice } = grounding;
  return {
    points: points.map((point) => ({
      source: point.source,
      score: point.score,
      metadata: toPointMetadata(point),
    })),
    dropped,
    ...(carried === 0 ? {} : { carried }),
    ...given({ error: error === undefined ? undefined : redactPaths(error), notice }),
  };
}
