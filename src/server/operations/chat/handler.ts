/** A chat request to its answer, whole or as the chunks of a stream. */
import type { ChatService } from "../../../core/chat/chat-service.ts";
import { given } from "../../../core/given.ts";
import type { Log } from "../../../core/log.ts";
import { announceIgnored } from "../../middleware/ignored-fields.ts";
import type { Answer, Handler } from "../../operation.ts";
import { recorded } from "./recording.ts";
import type { ChatCompletionRequest } from "./schema.ts";
import { newCompletionHead, toChatCompletion, toChunks } from "./to-completion.ts";
import { toChatRequest, wireName } from "./wire.ts";

interface Needs {
  chat: ChatService;
  log: Log;
}

export const answerChat: Handler<ChatCompletionRequest, Needs> = async (
  { body },
  context,
  { chat, log },
): Promise<Answer> => {
  const asked = { ...toChatRequest(body), searcher: context.authenticated };
  const { signal, report, lease } = context;
  const { caller, prefixScope } = lease;
  const head = newCompletionHead();
  const begun = await chat.answer(asked, {
    signal,
    caller,
    ...given({ prefixScope }),
    report,
  });
  announceIgnored(begun.ignored.map(wireName), context, log);
  const answer = context.logsPrompts ? recorded(begun, context) : begun;
  if (body.stream !== true) return { json: await toChatCompletion(head, answer) };
  return { events: toChunks(head, answer, body.stream_options?.include_usage ?? false) };
};
