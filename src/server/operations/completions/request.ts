/** Converts a completion request from the wire to the domain: pure functions, no HTTP. */
import {
  type CompletionsRequest,
  completionsAtOnce,
} from "../../../core/chat/completion-service.ts";
import type { RawPrompt } from "../../../core/ports/chat-engine.ts";
import { inputsOf, refuse, withoutNulls } from "../../wire/fields.ts";
import { toGenerationSettings, toSampling } from "../../wire/generation-fields.ts";
import { type CompletionRequest, defaultMaxTokens } from "./schema.ts";

/** Most answers of a request, for all its prompts together. */
const mostAnswers = 128;

/** How many answers each prompt gets, and how many of them are sent. */
export interface Candidates {
  generated: number;
  sent: number;
  /** Whether the best are selected and sent first. */
  areRanked: boolean;
}

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
  return {
    model: body.model,
    prompts: toPrompts(body.prompt),
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

/** How many places of the caller's `concurrency` it takes: one for each simultaneous answer. */
export const placesOf = (body: CompletionRequest): number =>
  Math.min(promptCount(body) * Math.max(body.n ?? 1, body.best_of ?? 1), completionsAtOnce);

const promptCount = ({ prompt }: CompletionRequest): number => toPrompts(prompt).length;

const toPrompts = (prompt: CompletionRequest["prompt"]): RawPrompt[] =>
  prompt === null ? [""] : inputsOf(prompt);
