/** Bodies of Ollama's API. */
import { asked, conversation, said } from "./conversations.ts";
import {
  bytes,
  keys,
  members,
  mostMessages,
  named,
  share,
  text,
  times,
  upTo,
  values,
} from "./parts.ts";
import { doubling, properties } from "./schemas.ts";

const options = '"options":{"num_predict":1}';
const chat = (rest: string): string => `{"model":"tiny-chat",${options},${rest}}`;
const embed = (input: string): string => `{"model":"tiny-embedding","input":${input}}`;

const call = (args: string): string => `{"function":{"name":"f","arguments":${args}}}`;
const called = (calls: string, results: string): string =>
  `"messages":[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[${calls}]},${results}]`;
/** As many results as a conversation has room for. */
const results = mostMessages - 2;

export const ollamaChatBodies: Record<string, () => string> = {
  "one text": () => chat(asked(`"${text(bytes)}"`)),
  "a long conversation": () => chat(conversation(mostMessages - 1, share)),
  "too many messages": () =>
    chat(`"messages":[${upTo(keys / 2, '{"role":"user","content":"a"}')}]`),
  "calls, each with a result": () =>
    chat(called(times(results, call("{}")), times(results, '{"role":"tool","content":"r"}'))),
  "calls of one tool, and results of another": () =>
    chat(
      called(
        times(Math.floor(keys / 5), call("{}")),
        times(results, '{"role":"tool","content":"r","tool_name":"g"}'),
      ),
    ),
  "the members of a call's arguments": () =>
    chat(called(call(`{${members(keys - 100)}}`), '{"role":"tool","content":"r"}')),
  "a schema of many properties": () => chat(`"format":${properties()},${said}`),
  "a tool with a schema that doubles at each level": () =>
    chat(
      `"tools":[{"type":"function","function":{"name":"f","parameters":${doubling()}}}],${said}`,
    ),
  "stop texts": () => `{"model":"tiny-chat","options":{"stop":[${upTo(values, '"a"')}]},${said}}`,
  "long stop texts": () =>
    `{"model":"tiny-chat","options":{"num_predict":1,"stop":[${times(32, `"${text(bytes / 32 - 8)}"`)}]},${said}}`,
  "options that nobody knows": () => `{"model":"tiny-chat","options":{${named(keys)}},${said}}`,
  images: () => chat(`"messages":[{"role":"user","images":[${upTo(values, '""')}]}]`),
};

export const ollamaGenerateBodies: Record<string, () => string> = {
  "one text": () => chat(`"prompt":"${text(bytes)}"`),
  "one text as it is": () => chat(`"raw":true,"prompt":"${text(bytes)}"`),
  "a suffix": () => chat(`"prompt":"a","suffix":"${text(bytes)}"`),
  "a system prompt": () => chat(`"prompt":"a","system":"${text(bytes)}"`),
  "an earlier context": () => chat(`"prompt":"a","context":[${upTo(values, "1")}]`),
};

export const ollamaEmbedBodies: Record<string, () => string> = {
  "one text to cut": () => embed(`"${text(bytes)}"`),
  "one word to cut": () => embed(`"${"x".repeat(bytes)}"`),
  "texts to cut": () => embed(`[${times(mostMessages, `"${text(share)}"`)}]`),
  "short texts to embed": () => embed(`[${times(mostMessages, '"hello"')}]`),
  "too many texts": () => embed(`[${upTo(values, '""')}]`),
};

export const ollamaShowBodies: Record<string, () => string> = {
  "a model's name": () => `{"model":"${text(bytes)}"}`,
  "fields that nobody knows": () => `{"model":"tiny-chat",${named(keys)}}`,
};
