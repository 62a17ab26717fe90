/** Examples for the API's description; the request works on a node with the starter models. */
import type { Completion, CompletionChunk, CompletionRequest } from "./schema.ts";

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
  usage: {
    prompt_tokens: 13,
    completion_tokens: 2,
    total_tokens: 15,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0 },
  },
};

const chunk: CompletionChunk = {
  ...head,
  choices: [{ index: 0, text: " Madrid", logprobs: null, finish_reason: null }],
};

export const completionExamples = { request, completion, chunk };
