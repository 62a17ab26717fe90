import Anthropic from "@anthropic-ai/sdk";

const client = ({ origin, apiKey }) => new Anthropic({ baseURL: origin, apiKey });
const asked = ({ model }, content) => ({
  model,
  max_tokens: 500,
  messages: [{ role: "user", content }],
});

export async function ask(settings, question) {
  const { content } = await client(settings).messages.create(asked(settings, question));
  return content[0].text;
}

export async function* stream(settings, question, signal) {
  const request = { ...asked(settings, question), stream: true };
  for await (const event of await client(settings).messages.create(request, { signal })) {
    if (event.type === "content_block_delta") yield event.delta.text;
  }
}

export async function useTool(settings, question) {
  const tools = [
    {
      name: "read_note",
      description: "Reads a note.",
      input_schema: { type: "object", properties: { path: { type: "string" } } },
    },
  ];
  const request = { ...asked(settings, question), tools };
  const { content } = await client(settings).messages.create(request);
  const [call] = content.filter(({ type }) => type === "tool_use");
  const result = { type: "tool_result", tool_use_id: call.id, content: "The word is marmalade." };
  request.messages.push({ role: "assistant", content }, { role: "user", content: [result] });
  const answer = await client(settings).messages.create(request);
  return answer.content[0].text;
}
