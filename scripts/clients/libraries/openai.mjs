import OpenAI from "openai";

const asked = ({ model }, content) => ({ model, messages: [{ role: "user", content }] });

export async function ask(settings, question) {
  const { choices } = await new OpenAI(settings).chat.completions.create(asked(settings, question));
  return choices[0].message.content;
}

export async function* stream(settings, question, signal) {
  const request = { ...asked(settings, question), stream: true };
  for await (const chunk of await new OpenAI(settings).chat.completions.create(request, {
    signal,
  })) {
    yield chunk.choices[0]?.delta.content;
  }
}

export async function useTool(settings, question) {
  const runner = new OpenAI(settings).chat.completions.runTools({
    ...asked(settings, question),
    tools: [
      {
        type: "function",
        function: {
          name: "read_note",
          description: "Reads a note.",
          parameters: { type: "object", properties: { path: { type: "string" } } },
          parse: JSON.parse,
          function: () => "The word is marmalade.",
        },
      },
    ],
  });
  return await runner.finalContent();
}
