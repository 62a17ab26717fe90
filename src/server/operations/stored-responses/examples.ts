/** Examples of kept responses for the OpenAPI document. */
import { responseExamples } from "../responses/examples.ts";
import { inputItemId } from "../responses/ids.ts";

export const storedExample = responseExamples.response;

export const cancelledExample = {
  ...storedExample,
  completed_at: null,
  status: "cancelled",
  background: true,
  output: [],
  usage: null,
};

export const inputExample = {
  id: inputItemId(storedExample.id, "msg", 0),
  type: "message",
  role: "user",
  content: [{ type: "input_text", text: "What is the capital of France?" }],
};
