/** Examples of kept responses for the OpenAPI document. */

export const storedExample = {
  id: "resp_68f3b1c6e2a904d7fb5e01c2200000001",
  object: "response",
  created_at: 1794700800,
  status: "completed",
  error: null,
  incomplete_details: null,
  model: "TinyLlama-1.1B-Chat-v1.0",
  background: false,
  store: true,
  previous_response_id: null,
  output: [
    {
      id: "msg_68f3b1c6e2a904d7fb5e01c2200000002",
      type: "message",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: "Paris is the capital of France.", annotations: [] }],
    },
  ],
  usage: {
    input_tokens: 24,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 8,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 32,
  },
};

export const inputExample = {
  id: "msg_68f3b1c6e2a904d7fb5e01c2200000003",
  type: "message",
  role: "user",
  content: [{ type: "input_text", text: "What is the capital of France?" }],
};
