/** Examples for the API's description; the request works on a node with the starter models. */
import type { ResponseStreamEvent } from "./event-schema.ts";
import type { ResponseRequest } from "./request-schema.ts";
import type { ResponseObject } from "./schema.ts";

const request: ResponseRequest = {
  model: "TinyLlama-1.1B-Chat-v1.0",
  instructions: "You are a helpful assistant.",
  input: "What is the capital of France?",
  temperature: 0,
};

const id = "resp_2f9d7c1e5a314f0b9c573d6a1f0e8b42";
const message = "msg_2f9d7c1e5a314f0b9c573d6a1f0e8b42_0";

const response: ResponseObject = {
  id,
  object: "response",
  created_at: 1794700800,
  completed_at: 1794700801,
  status: "completed",
  error: null,
  incomplete_details: null,
  model: "TinyLlama-1.1B-Chat-v1.0",
  instructions: "You are a helpful assistant.",
  output: [
    {
      type: "message",
      id: message,
      status: "completed",
      role: "assistant",
      content: [{ type: "output_text", text: "The capital of France is Paris.", annotations: [] }],
    },
  ],
  usage: {
    input_tokens: 39,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 7,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 46,
  },
  previous_response_id: null,
  background: false,
  store: true,
  metadata: {},
  max_output_tokens: null,
  max_tool_calls: null,
  temperature: 0,
  top_p: null,
  top_logprobs: 0,
  parallel_tool_calls: true,
  tool_choice: "auto",
  tools: [],
  text: { format: { type: "text" } },
  reasoning: { effort: null, summary: null },
  truncation: "disabled",
  service_tier: "default",
  system_fingerprint: "fp_5c3a9e1b7d20",
};

const event: ResponseStreamEvent = {
  type: "response.output_text.delta",
  sequence_number: 4,
  item_id: message,
  output_index: 0,
  content_index: 0,
  delta: "Paris",
  logprobs: [],
};

export const responseExamples = { request, response, event };
