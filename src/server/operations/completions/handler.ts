/** Prompts to what follows them, whole or as the chunks of a stream. */
import type { CompletionService } from "../../../core/chat/completion-service.ts";
import { given } from "../../../core/given.ts";
import type { Log } from "../../../core/log.ts";
import { announceIgnored } from "../../middleware/ignored-fields.ts";
import type { Answer, Handler } from "../../operation.ts";
import { recorded } from "../../wire/recording.ts";
import { wireName } from "../../wire/sampling.ts";
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
  const { signal, report, lease } = context;
  const { caller, prefixScope } = lease;
  const candidates = toCandidates(body);
  const begun = completions.complete(toCompletionsRequest(body, candidates), {
    signal,
    caller,
    ...given({ prefixScope }),
    report,
  });
  announceIgnored(begun.ignored.map(wireName), context, log);
  const answer = context.logsPrompts ? recorded(begun, context) : begun;
  const head = newHead(answer);
  if (body.stream === true) {
    const includeUsage = body.stream_options?.include_usage ?? false;
    return { events: toChunks(head, answer, candidates, includeUsage) };
  }
  const asksLogprobs = typeof body.logprobs === "number";
  const text = await toCompletionJson(head, answer, candidates, asksLogprobs);
  return { text, contentType: "application/json" };
};
