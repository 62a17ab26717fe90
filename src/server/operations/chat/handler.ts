/** A chat request to its answer, whole or as the chunks of a stream. */
import type { Answer, Handler } from "../../operation.ts";
import { beginAnswer, type ChatNeeds } from "../../wire/begin-answer.ts";
import { renameFields } from "../../wire/field-names.ts";
import type { ChatCompletionRequest } from "./schema.ts";
import { newCompletionHead, toChatCompletion, toChunks } from "./to-completion.ts";
import { fieldNamesOf, isOlderForm, toChatRequest } from "./wire.ts";

export const answerChat: Handler<ChatCompletionRequest, ChatNeeds> = async (
  { body },
  context,
  needs,
): Promise<Answer> => {
  const head = newCompletionHead();
  const begun = await beginAnswer(toChatRequest(body), context, needs);
  const answer = { ...begun, events: renameFields(begun.events, fieldNamesOf(body)) };
  const form = {
    includeUsage: body.stream_options?.include_usage ?? false,
    isOlder: isOlderForm(body),
  };
  if (body.stream !== true) return { json: await toChatCompletion(head, answer, form) };
  return { events: toChunks(head, answer, form) };
};
