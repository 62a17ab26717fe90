/** Examples for the API's description; the request works on a node with the starter models. */
import type { ChatCompletion, ChatCompletionChunk, ChatCompletionRequest } from "./schema.ts";

const head = {
  id: "chatcmpl-2f9d7c1e-5a31-4f0b-9c57-3d6a1f0e8b42",
  created: 1794700800,
  model: "TinyLlama-1.1B-Chat-v1.0",
  system_fingerprint: "fp_5c3a9e1b7d20",
};

const request: ChatCompletionRequest = {
  model: "TinyLlama-1.1B-Chat-v1.0",
  messages: [
    { role: "system", content: "You are a helpful assistant." },
    { role: "user", content: "What is the capital of France?" },
  ],
  temperature: 0,
};

const completion: ChatCompletion = {
  ...head,
  object: "chat.completion",
  choices: [
    {
      index: 0,
      message: { role: "assistant", content: "The capital of France is Paris.", refusal: null },
      logprobs: null,
      finish_reason: "stop",
    },
  ],
  usage: {
    prompt_tokens: 39,
    completion_tokens: 7,
    total_tokens: 46,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0 },
  },
};

const chunk: ChatCompletionChunk = {
  ...head,
  object: "chat.completion.chunk",
  choices: [
    {
      index: 0,
      delta: { role: "assistant", content: "Paris" },
      logprobs: null,
      finish_reason: null,
    },
  ],
};

export const chatExamples = { request, completion, chunk };
