/** Examples for the API's description; the request works on a node with the starter models. */
import type { Message, MessageEvent } from "./answer-schema.ts";
import type { CountTokensRequest, MessageRequest } from "./schema.ts";

const prompt: CountTokensRequest = {
  model: "TinyLlama-1.1B-Chat-v1.0",
  system: "You are a helpful assistant.",
  messages: [{ role: "user", content: "What is the capital of France?" }],
};

const request: MessageRequest = { ...prompt, max_tokens: 64 };

const message: Message = {
  id: "msg_2f9d7c1e5a314f0b9c573d6a1f0e8b42",
  type: "message",
  role: "assistant",
  model: "TinyLlama-1.1B-Chat-v1.0",
  content: [{ type: "text", text: "The capital of France is Paris." }],
  stop_reason: "end_turn",
  stop_sequence: null,
  stop_details: null,
  container: null,
  diagnostics: null,
  usage: {
    input_tokens: 39,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: 7,
    output_tokens_details: { thinking_tokens: 0 },
    server_tool_use: null,
    cache_creation: null,
    inference_geo: null,
    service_tier: "standard",
    speed: null,
  },
};

const event: MessageEvent = {
  type: "content_block_delta",
  index: 0,
  delta: { type: "text_delta", text: "Paris" },
};

export const messageExamples = { prompt, request, message, event };
