/** POST /v1/completions */
import { complete } from "../../../core/chat/completion-service.ts";
import type { Log } from "../../../core/log.ts";
import type { ModelRegistry } from "../../../core/models/model-registry.ts";
import { modelErrors } from "../../openapi.ts";
import {
  type Answer,
  defineOperation,
  described,
  type Handler,
  namedSchema,
} from "../../operation.ts";
import { beginWith } from "../../wire/answer.ts";
import { toUsage } from "../../wire/completion.ts";
import { toChunks, toCompletionJson } from "./completion.ts";
import { placesOf, toCandidates, toCompletionsRequest } from "./request.ts";
import { Completion, CompletionChunk, CompletionRequest } from "./schema.ts";

const head = {
  id: "cmpl-8b1f4a52-6c0d-4c39-9a77-1d2e5f60c3b4",
  object: "text_completion",
  created: 1794700800,
  model: "TinyLlama-1.1B-Chat-v1.0",
  system_fingerprint: "fp_5c3a9e1b7d20",
} as const;

const request: CompletionRequest = {
  model: "TinyLlama-1.1B-Chat-v1.0",
  prompt: "France: Paris\nItaly: Rome\nSpain:",
  max_tokens: 5,
  temperature: 0,
  stop: "\n",
};

const completion: Completion = {
  ...head,
  choices: [{ index: 0, text: " Madrid", logprobs: null, finish_reason: "stop" }],
  usage: toUsage([{ promptTokens: 13, completionTokens: 2, cachedTokens: 0, reasoningTokens: 0 }]),
};

const chunk: CompletionChunk = {
  ...head,
  choices: [{ index: 0, text: " Madrid", logprobs: null, finish_reason: null }],
};

interface CompletionNeeds {
  models: ModelRegistry;
  log: Log;
}

const completePrompts: Handler<CompletionRequest, CompletionNeeds> = async (
  { body },
  context,
  { models, log },
): Promise<Answer> => {
  const candidates = toCandidates(body);
  const request = toCompletionsRequest(body, candidates);
  const answer = await beginWith((options) => complete(models, request, options), context, log);
  if (body.stream === true) {
    const includeUsage = body.stream_options?.include_usage ?? false;
    return { events: toChunks(answer, candidates, includeUsage) };
  }
  const asksLogprobs = typeof body.logprobs === "number";
  const text = await toCompletionJson(answer, candidates, asksLogprobs);
  return { text, contentType: "application/json" };
};

export const completions = defineOperation({
  route: "POST /v1/completions",
  name: "completions",
  genAiName: "text_completion",
  operationId: "createCompletion",
  summary: "Continue a text",
  description:
    "Continues each prompt without a chat template, as one JSON body or, with `stream`, as server-sent events that end with `data: [DONE]`.",
  tag: "Chat",
  scope: "chat",
  body: {
    ...namedSchema({ CompletionRequest }),
    example: request,
    // A list of numbers is one prompt.
    lists: [{ param: "prompt", limit: "maxInputs", isFor: (first) => typeof first !== "number" }],
    answers: placesOf,
    logged: ({ model, prompt, suffix }) => ({ model, prompt, ...(suffix ? { suffix } : {}) }),
  },
  answer: described({ Completion }, "The answers.", completion),
  stream: described(
    { CompletionChunk },
    "One line `data: <chunk>` for each of these, then the line `data: [DONE]`.",
    chunk,
  ),
  errors: modelErrors,
  handler: completePrompts,
});
