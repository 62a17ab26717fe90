import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, isStepCount, streamText, tool } from "ai";
import { z } from "zod";

const asked = ({ baseURL, apiKey, model }, prompt) => ({
  model: createOpenAICompatible({ name: "paddock", baseURL, apiKey })(model),
  prompt,
});

export async function ask(settings, question) {
  return (await generateText(asked(settings, question))).text;
}

export async function* stream(settings, question, abortSignal) {
  const { textStream } = streamText({ ...asked(settings, question), abortSignal });
  yield* textStream;
}

export async function useTool(settings, question) {
  const read_note = tool({
    description: "Reads a note.",
    inputSchema: z.object({ path: z.string() }),
    execute: () => "The word is marmalade.",
  });
  const request = { ...asked(settings, question), tools: { read_note }, stopWhen: isStepCount(3) };
  return (await generateText(request)).text;
}
