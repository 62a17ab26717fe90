import { HumanMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import { z } from "zod";

const chat = ({ baseURL, apiKey, model }) =>
  new ChatOpenAI({ model, apiKey, configuration: { baseURL } });

export async function ask(settings, question) {
  return (await chat(settings).invoke(question)).text;
}

export async function* stream(settings, question, signal) {
  for await (const chunk of await chat(settings).stream(question, { signal })) yield chunk.text;
}

export async function useTool(settings, question) {
  const readNote = tool(() => "The word is marmalade.", {
    name: "read_note",
    description: "Reads a note.",
    schema: z.object({ path: z.string() }),
  });
  const bound = chat(settings).bindTools([readNote]);
  const messages = [new HumanMessage(question)];
  const call = await bound.invoke(messages);
  const [{ id, args }] = call.tool_calls;
  const content = await readNote.invoke(args);
  messages.push(call, new ToolMessage({ content, tool_call_id: id }));
  return (await bound.invoke(messages)).text;
}
