/** Has a service begin an answer for a request, whichever API it came by. */
import type { ChatAnswer, ChatRequest, ChatService } from "../../core/chat/chat-service.ts";
import { given } from "../../core/given.ts";
import type { Log } from "../../core/log.ts";
import type { CallOptions } from "../../core/ports/chat-engine.ts";
import { announceIgnored } from "../middleware/ignored-fields.ts";
import type { RequestContext } from "../request-context.ts";
import { recorded } from "./recording.ts";
import { wireName } from "./sampling.ts";

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
  return context.logsPrompts ? recorded(begun, context) : begun;
}
