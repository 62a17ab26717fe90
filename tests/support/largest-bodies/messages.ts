import { asked, chat, conversation, said } from "./conversations.ts";
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

/** A conversation as Anthropic's API has it, with a call of these arguments. */
const used = (input: string): string =>
  `"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":${input}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"r"}]}]`;
const format = (of: () => string): string =>
  `"output_config":{"format":{"type":"json_schema","schema":${of()}}}`;

/** Those that make up a prompt, and are counted too. */
export const promptBodies: Record<string, () => string> = {
  "one text": () => chat(asked(`"${text(bytes)}"`)),
  "a system prompt": () => chat(`"system":"${text(bytes)}",${said}`),
  "a long conversation": () => chat(conversation(mostMessages - 1, share)),
  "one turn of many messages": () =>
    chat(`"messages":[${times(mostMessages, `{"role":"user","content":"${text(share)}"}`)}]`),
  "text blocks": () => chat(asked(`[${upTo(keys / 2, '{"type":"text","text":"a"}')}]`)),
  "blocks of the system prompt": () =>
    chat(`"system":[${upTo(keys / 2, '{"type":"text","text":"a"}')}],${said}`),
  "a last block that is none": () =>
    chat(asked(`[${upTo(keys / 2, '{"type":"text","text":"a"}')},{"type":1}]`)),
  "results of no call": () =>
    chat(asked(`[${upTo(keys / 2, '{"type":"tool_result","tool_use_id":"a"}')}]`)),
  "calls without results": () =>
    chat(
      `${said.slice(0, -1)},{"role":"assistant","content":[${times(keys / 4, (at) => `{"type":"tool_use","id":"c${at}","name":"f","input":{}}`)}]}]`,
    ),
  "the input of a call": () => chat(used(`{"a":[${upTo(values - 100, "[]")}]}`)),
  "the members of a call's input": () => chat(used(`{${members(keys - 100)}}`)),
  "fields of blocks that nobody knows": () =>
    chat(asked(`[${upTo(keys / 3, '{"type":"text","text":"a","x":1}')}]`)),
  "a tool with a schema that doubles at each level": () =>
    chat(`"tools":[{"name":"f","input_schema":${doubling()}}],${said}`),
  "a tool's description": () =>
    chat(
      `"tools":[{"name":"f","description":"${text(bytes)}","input_schema":{"type":"object"}}],${said}`,
    ),
  "fields that nobody knows": () => chat(`${said},${named(keys)}`),
};

export const messageBodies: Record<string, () => string> = {
  ...promptBodies,
  "a long grounded conversation": () => chat(`"rag":true,${conversation(mostMessages - 1, share)}`),
  "a schema of many properties": () => chat(`${format(properties)},${said}`),
  "stop sequences": () => chat(`${said},"stop_sequences":[${upTo(values, '"a"')}]`),
  "long stop sequences": () =>
    chat(`${said},"stop_sequences":[${times(16, `"${text(bytes / 16 - 8)}"`)}]`),
};
