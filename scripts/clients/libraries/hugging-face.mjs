import { InferenceClient } from "@huggingface/inference";

const client = ({ apiKey, baseURL }) => new InferenceClient(apiKey, { endpointUrl: baseURL });
const asked = ({ model }, content) => ({ model, messages: [{ role: "user", content }] });

export async function ask(settings, question) {
  const { choices } = await client(settings).chatCompletion(asked(settings, question));
  return choices[0].message.content;
}

export async function* stream(settings, question, signal) {
  const options = { signal };
  for await (const chunk of client(settings).chatCompletionStream(
    asked(settings, question),
    options,
  )) {
    yield chunk.choices[0]?.delta.content;
  }
}

export async function useTool(settings, question) {
  const parameters = { type: "object", properties: { path: { type: "string" } } };
  const read = { name: "read_note", description: "Reads a note.", parameters };
  const request = { ...asked(settings, question), tools: [{ type: "function", function: read }] };
  const { choices } = await client(settings).chatCompletion(request);
  const { message } = choices[0];
  const [{ id }] = message.tool_calls;
  const content = "The word is marmalade.";
  request.messages.push(message, { role: "tool", tool_call_id: id, content });
  return (await client(settings).chatCompletion(request)).choices[0].message.content;
}
