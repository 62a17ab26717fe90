import { OpenAI } from "@llamaindex/openai";
import { tool } from "llamaindex";
import { z } from "zod";

const llm = (settings) => new OpenAI(settings);
const asked = (content) => ({ messages: [{ role: "user", content }] });

export async function ask(settings, question) {
  return (await llm(settings).chat(asked(question))).message.content;
}

/** It takes no signal: whoever stops reading leaves. */
export async function* stream(settings, question) {
  for await (const { delta } of await llm(settings).chat({ ...asked(question), stream: true })) {
    yield delta;
  }
}

export async function useTool(settings, question) {
  const readNote = tool({
    name: "read_note",
    description: "Reads a note.",
    parameters: z.object({ path: z.string() }),
    execute: () => "The word is marmalade.",
  });
  const { newMessages } = await llm(settings).exec({ ...asked(question), tools: [readNote] });
  const messages = [...asked(question).messages, ...newMessages];
  return (await llm(settings).chat({ messages, tools: [readNote] })).message.content;
}
