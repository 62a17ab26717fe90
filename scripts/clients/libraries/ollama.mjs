import { Ollama } from "ollama";

const client = ({ origin, apiKey }) =>
  new Ollama({ host: origin, headers: { authorization: `Bearer ${apiKey}` } });
const asked = ({ model }, content) => ({ model, messages: [{ role: "user", content }] });

export async function ask(settings, question) {
  const { message } = await client(settings).chat(asked(settings, question));
  return message.content;
}

export async function* stream(settings, question, signal) {
  const parts = await client(settings).chat({ ...asked(settings, question), stream: true });
  signal.addEventListener("abort", () => parts.abort());
  for await (const { message } of parts) yield message.content;
}

export async function useTool(settings, question) {
  const tool = {
    type: "function",
    function: {
      name: "read_note",
      description: "Reads a note.",
      parameters: { type: "object", properties: { path: { type: "string" } } },
    },
  };
  const request = { ...asked(settings, question), tools: [tool] };
  const { message: calling } = await client(settings).chat(request);
  const [call] = calling.tool_calls;
  const result = {
    role: "tool",
    tool_name: call.function.name,
    content: "The word is marmalade.",
  };
  request.messages.push(calling, result);
  const { message } = await client(settings).chat(request);
  return message.content;
}
