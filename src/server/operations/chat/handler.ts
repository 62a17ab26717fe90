/** A chat request to its answer, whole or as the chunks of a stream. */
import type { Answer, Handler } from "../../operation.ts";
import { beginAnswer, type ChatNeeds } from "../../wire/begin-answer.ts";
import type { ChatCompletionRequest } from "./schema.ts";
import { newCompletionHead, toChatCompletion, toChunks } from "./to-completion.ts";
import { toChatRequest } from "./wire.ts";

export const answerChat: Handler<ChatCompletionRequest, ChatNeeds> = async (
  { body },
  context,
  needs,
): Promise<Answer> => {
  const head = newCompletionHead();
  const answer = await beginAnswer(toChatRequest(body), context, needs);
  if (body.stream !== true) return { json: await toChatCompletion(head, answer) };
  return { events: toChunks(head, answer, body.stream_options?.include_usage ?? false) };
};
