/** Bodies of /v1/chat/completions. */
import { asked, chat, conversation, said } from "./conversations.ts";
import {
  bytes,
  filled,
  keys,
  members,
  mostMessages,
  named,
  repeat,
  share,
  text,
  times,
  upTo,
  values,
} from "./parts.ts";
import { constants, doubling, properties } from "./schemas.ts";

const called = (args: string): string =>
  `"messages":[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":${JSON.stringify(args)}}}]},{"role":"tool","tool_call_id":"c","content":"r"}]`;
const schema = (of: () => string): string =>
  `"response_format":{"type":"json_schema","json_schema":{"name":"s","schema":${of()}}}`;

export const chatBodies: Record<string, () => string> = {
  "one text": () => chat(asked(`"${text(bytes)}"`)),
  "one word": () => chat(asked(`"${"x".repeat(bytes)}"`)),
  "escaped characters": () => chat(asked(`"${repeat(bytes / 2, '\\"')}"`)),
  "a long conversation": () => chat(conversation(mostMessages - 1, share)),
  "a long grounded conversation": () => chat(`"rag":true,${conversation(mostMessages - 1, share)}`),
  "a grounded text": () => chat(`"rag":true,${asked(`"${text(bytes)}"`)}`),
  "a question of more messages than the node takes": () =>
    chat(`"rag":{"context_window":100},${asked(`"${text(bytes)}"`)}`),
  "a schema of many properties": () => chat(`${schema(properties)},${asked('"a"')}`),
  "a schema of many constants": () => chat(`${schema(constants)},${asked('"a"')}`),
  "a schema that doubles at each level": () => chat(`${schema(doubling)},${asked('"a"')}`),
  "a tool with such a schema": () =>
    chat(
      `"tools":[{"type":"function","function":{"name":"f","parameters":${doubling()}}}],${asked('"a"')}`,
    ),
  "too many messages": () =>
    chat(`"messages":[${upTo(keys / 2, '{"role":"user","content":"a"}')}]`),
  "empty messages": () => chat(`"messages":[${upTo(values, "{}")}]`),
  "text parts": () => chat(asked(`[${upTo(keys / 2, '{"type":"text","text":"a"}')}]`)),
  "a last part that is none": () =>
    chat(asked(`[${upTo(keys / 2, '{"type":"text","text":"a"}')},{"type":1}]`)),
  "parts that are none": () => chat(asked(`[${upTo(values, "true")}]`)),
  "calls that are none": () =>
    chat(`"messages":[{"role":"assistant","tool_calls":[${upTo(values, "1")}]}]`),
  "arguments of a call": () => chat(called(`[${upTo(values - 100, "[]")}]`)),
  "more arguments of a call": () => chat(called(`[${filled("[]")}]`)),
  "nested arguments of a call": () => chat(called("[".repeat(bytes))),
  biases: () => chat(`${said},"logit_bias":{${members(keys)}}`),
  "a last bias that is none": () => chat(`${said},"logit_bias":{${members(keys)},"9999999":"x"}`),
  "biases of no token": () => chat(`${said},"logit_bias":{${named(keys)}}`),
  "stop texts": () => chat(`${said},"stop":[${upTo(values, '""')}]`),
  "long stop texts": () => chat(`${said},"stop":[${times(4, `"${text(bytes / 4 - 8)}"`)}]`),
  "tools that are none": () => chat(`${said},"tools":[${upTo(values, "1")}]`),
  "a tool's description": () =>
    chat(
      `${said},"tools":[{"type":"function","function":{"name":"f","description":"${text(bytes)}"}}]`,
    ),
  "fields that nobody knows": () => chat(`${said},${named(keys)}`),
  "fields of a message that nobody knows": () =>
    chat(`"messages":[{"role":"user","content":"a",${named(keys)}}]`),
  "more fields than it may have": () => chat(`${said},${named(1_000_000)}`),
  "one name of a field": () => chat(`${said},"${"x".repeat(bytes)}":1`),
  "a number of all digits": () => chat(`${said},"n":${"9".repeat(bytes)}`),
  modalities: () => chat(`${said},"modalities":[${upTo(values, '"text"')}]`),
  brackets: () => chat(`${said},"x":${"[".repeat(bytes / 2)}${"]".repeat(bytes / 2)}`),
  "a list in place of an object": () => `[${upTo(values, "1")}]`,
  "a longer list in its place": () => `[${filled("1")}]`,
  spaces: () => " ".repeat(bytes),
  "no JSON": () => repeat(Math.floor(bytes / 5), '{"a":'),
  "a text without an end": () => `"${text(bytes)}`,
};
