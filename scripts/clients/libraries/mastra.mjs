import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { z } from "zod";

const readNote = createTool({
  id: "read_note",
  description: "Reads a note.",
  inputSchema: z.object({ path: z.string() }),
  execute: async () => "The word is marmalade.",
});

const agent = ({ baseURL, apiKey, model }, tools = {}) =>
  new Agent({
    id: "helper",
    name: "helper",
    instructions: "Be brief.",
    model: { id: `paddock/${model}`, url: baseURL, apiKey },
    tools,
  });

export async function ask(settings, question) {
  return (await agent(settings).generate(question)).text;
}

export async function* stream(settings, question, abortSignal) {
  const { textStream } = await agent(settings).stream(question, { abortSignal });
  yield* textStream;
}

export async function useTool(settings, question) {
  return (await agent(settings, { read_note: readNote }).generate(question)).text;
}
