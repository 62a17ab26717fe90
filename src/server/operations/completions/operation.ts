/** POST /v1/completions, and its request as the domain's. */
import { mostCharacters } from "../../../core/chat/answer-parts.ts";
import {
  type CompletionsRequest,
  completionsAtOnce,
} from "../../../core/chat/completion-service.ts";
import type { RawPrompt } from "../../../core/ports/chat-engine.ts";
import { modelErrors } from "../../openapi.ts";
import { defineOperation, described, namedSchema } from "../../operation.ts";
import { beginCompletion, type CompletionNeeds, held } from "../../wire/answer.ts";
import { toUsage } from "../../wire/completion.ts";
import { inputsOf, refuse, withoutNulls } from "../../wire/fields.ts";
import { toGenerationSettings, toSampling } from "../../wire/generation-fields.ts";
import { type Candidates, toChunks, toCompletionJson } from "./completion.ts";
import { Completion, CompletionChunk, CompletionRequest, defaultMaxTokens } from "./schema.ts";

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
  handler: async ({ body }, context, needs: CompletionNeeds) => {
    const candidates = toCandidates(body);
    const request = toCompletionsRequest(body, candidates);
    const answer = await beginCompletion(request, context, needs);
    if (body.stream === true) {
      const includeUsage = body.stream_options?.include_usage ?? false;
      return { events: toChunks(answer, candidates, includeUsage) };
    }
    const asksLogprobs = typeof body.logprobs === "number";
    const whole = held(answer, context);
    return { text: await toCompletionJson(whole, candidates, asksLogprobs) };
  },
});

/** Most answers of a request, for all its prompts together. */
const mostAnswers = 128;

export function toCandidates(body: CompletionRequest): Candidates {
  const sent = body.n ?? 1;
  const generated = body.best_of ?? sent;
  if (generated < sent) throw refuse("best_of", `must be at least 'n', which is ${sent}`);
  if (generated > 1 && body.best_of && body.stream === true) {
    throw refuse("best_of", "cannot be streamed: which answer is best is known at the end");
  }
  const answers = promptCount(body) * generated;
  if (answers > mostAnswers) {
    const param = generated > 1 ? (body.best_of ? "best_of" : "n") : "prompt";
    throw refuse(param, `asks for ${answers} answers; a request may have ${mostAnswers} in all`);
  }
  return { generated, sent, areRanked: (body.best_of ?? 1) > 1 };
}

export function toCompletionsRequest(
  body: CompletionRequest,
  { generated, areRanked }: Candidates,
): CompletionsRequest {
  // Answers are ranked by their log probabilities.
  const topLogprobs = body.logprobs ?? (areRanked ? 0 : undefined);
  if (body.echo && body.suffix && typeof body.logprobs === "number") {
    throw refuse("echo", "cannot be combined with both 'suffix' and 'logprobs'; leave one out");
  }
  const prompts = toPrompts(body.prompt);
  checkEcho(body, prompts, generated);
  return {
    model: body.model,
    prompts,
    sampling: toSampling(body),
    ...toGenerationSettings(body),
    choices: generated,
    maxTokens: body.max_tokens ?? defaultMaxTokens,
    ...withoutNulls({
      topLogprobs,
      echo: body.echo,
      suffix: body.suffix === "" ? undefined : body.suffix,
    }),
  };
}

/** Without a stream the prompts are held as often as they are repeated. */
function checkEcho(
  { echo, stream }: CompletionRequest,
  prompts: readonly RawPrompt[],
  each: number,
): void {
  if (echo !== true || stream === true) return;
  const characters = each * prompts.reduce((sum, prompt) => sum + prompt.length, 0);
  if (characters <= mostCharacters) return;
  throw refuse(
    "echo",
    `repeats prompts of ${characters} characters in all answers; without 'stream' they may have ${mostCharacters}`,
  );
}

/** How many places of the caller's `concurrency` it takes: one for each simultaneous answer. */
export function placesOf(body: CompletionRequest): number {
  return Math.min(promptCount(body) * Math.max(body.n ?? 1, body.best_of ?? 1), completionsAtOnce);
}

const promptCount = ({ prompt }: CompletionRequest): number => toPrompts(prompt).length;

const toPrompts = (prompt: CompletionRequest["prompt"]): RawPrompt[] =>
  prompt === null ? [""] : inputsOf(prompt);
