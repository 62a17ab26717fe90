/** Prompts to what follows them, whole or as the chunks of a stream. */
import type { CompletionService } from "../../../core/chat/completion-service.ts";
import type { Log } from "../../../core/log.ts";
import type { Answer, Handler } from "../../operation.ts";
import { beginWith } from "../../wire/begin-answer.ts";
import type { CompletionRequest } from "./schema.ts";
import { newHead, toChunks, toCompletionJson } from "./to-completion.ts";
import { toCandidates, toCompletionsRequest } from "./wire.ts";

export interface CompletionNeeds {
  completions: CompletionService;
  log: Log;
}

export const completePrompts: Handler<CompletionRequest, CompletionNeeds> = async (
  { body },
  context,
  { completions, log },
): Promise<Answer> => {
  const candidates = toCandidates(body);
  const request = toCompletionsRequest(body, candidates);
  const answer = await beginWith((options) => completions.complete(request, options), context, log);
  const head = newHead(answer);
  if (body.stream === true) {
    const includeUsage = body.stream_options?.include_usage ?? false;
    return { events: toChunks(head, answer, candidates, includeUsage) };
  }
  const asksLogprobs = typeof body.logprobs === "number";
  const text = await toCompletionJson(head, answer, candidates, asksLogprobs);
  return { text, contentType: "application/json" };
};
