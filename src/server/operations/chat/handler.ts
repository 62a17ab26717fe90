/** A chat request to its answer, whole or as the chunks of a stream. */
import type { ChatService } from "../../../core/chat/chat-service.ts";
import { given } from "../../../core/given.ts";
import type { Answer, Handler } from "../../operation.ts";
import { recorded } from "./recording.ts";
import type { ChatCompletionRequest } from "./schema.ts";
import { newCompletionHead, toChatCompletion, toChunks } from "./to-completion.ts";
import { toChatRequest } from "./wire.ts";

export const answerChat: Handler<ChatCompletionRequest, { chat: ChatService }> = async (
  { body },
  context,
  { chat },
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
  const answer = context.logsPrompts ? recorded(begun, context) : begun;
  if (body.stream !== true) return { json: await toChatCompletion(head, answer) };
  return { events: toChunks(head, answer, body.stream_options?.include_usage ?? false) };
};
