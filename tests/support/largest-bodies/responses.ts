import { filterList } from "./filters.ts";
import {
  bytes,
  filled,
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
import { doubling } from "./schemas.ts";

const respond = (rest: string): string =>
  `{"model":"tiny-chat","max_output_tokens":1,"store":false,${rest}}`;
const calledItems = (args: string): string =>
  `"input":[{"role":"user","content":"a"},{"type":"function_call","call_id":"c","name":"f","arguments":${JSON.stringify(args)}},{"type":"function_call_output","call_id":"c","output":"r"}]`;
const turns = (count: number, length: number): string =>
  `"input":[${times(count, (at) => `{"role":"${at % 2 === 0 ? "user" : "assistant"}","content":"${text(length)}"}`)},{"role":"user","content":"hello"}]`;
const hexes = (at: number): string => String(at).padStart(32, "0");

export const responseBodies: Record<string, () => string> = {
  "one text": () => respond(`"input":"${text(bytes)}"`),
  "long instructions": () => respond(`"input":"a","instructions":"${text(bytes)}"`),
  "a long conversation": () => respond(turns(mostMessages - 1, share)),
  "a long conversation to truncate": () =>
    respond(`"truncation":"auto",${turns(mostMessages - 1, share)}`),
  "a conversation of short messages to truncate": () =>
    respond(`"truncation":"auto",${turns(mostMessages - 1, 5)}`),
  "too many items": () => respond(`"input":[${upTo(keys / 2, '{"role":"user","content":"a"}')}]`),
  "items that are none": () => respond(`"input":[${upTo(values, "1")}]`),
  "input text parts": () =>
    respond(
      `"input":[{"role":"user","content":[${upTo(keys / 2, '{"type":"input_text","text":"a"}')}]}]`,
    ),
  "parts of an output": () =>
    respond(
      `"input":[{"role":"user","content":"a"},{"type":"function_call","call_id":"c","name":"f","arguments":""},{"type":"function_call_output","call_id":"c","output":[${upTo(keys / 2 - 20, '{"type":"input_text","text":"a"}')},{"type":1}]}]`,
    ),
  "arguments of a call": () => respond(calledItems(`[${upTo(values - 100, "[]")}]`)),
  "more arguments of a call": () => respond(calledItems(`[${filled("[]")}]`)),
  "calls without outputs": () =>
    respond(
      `"input":[{"role":"user","content":"a"},${times(mostMessages - 1, (at) => `{"type":"function_call","call_id":"c${at}","name":"f","arguments":""}`)}]`,
    ),
  references: () =>
    respond(
      `"input":[${times(mostMessages, (at) => `{"type":"item_reference","id":"msg_${hexes(at)}_0"}`)}]`,
    ),
  "a response before": () => respond(`"input":"a","previous_response_id":"${text(bytes)}"`),
  "a schema that doubles at each level": () =>
    respond(
      `"input":"a","text":{"format":{"type":"json_schema","name":"s","schema":${doubling()}}}`,
    ),
  "a tool with such a schema": () =>
    respond(`"input":"a","tools":[{"type":"function","name":"f","parameters":${doubling()}}]`),
  "tools that are none": () => respond(`"input":"a","tools":[${upTo(values, "1")}]`),
  "tools that are allowed": () =>
    respond(
      `"input":"a","tools":[{"type":"function","name":"f"}],"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[${upTo(keys / 2, '{"type":"function","name":"f"}')}]}`,
    ),
  "filters of a search": () =>
    respond(
      `"input":"a","tools":[{"type":"file_search","vector_store_ids":["vs_default"],"filters":${filterList(keys / 4)}}]`,
    ),
  "fields of a tool that nobody knows": () =>
    respond(`"input":"a","tools":[{"type":"function","name":"f",${named(keys)}}]`),
  "fields of an item that nobody knows": () =>
    respond(`"input":[{"role":"user","content":"a",${named(keys)}}]`),
  "fields of parts that nobody knows": () =>
    respond(
      `"input":[{"role":"user","content":[${upTo(keys / 3, '{"type":"input_text","text":"a","x":1}')}]}]`,
    ),
  metadata: () => respond(`"input":"a","metadata":{${members(keys, '"a"')}}`),
  includes: () => respond(`"input":"a","include":[${upTo(values, '"file_search_call.results"')}]`),
  "fields that nobody knows": () => respond(`"input":"a",${named(keys)}`),
  "functions in namespaces": () =>
    respond(
      `"input":"a","tools":[${times(128, (space) => `{"type":"namespace","name":"n${space}","tools":[${times(128, (at) => `{"type":"function","name":"f${at}"}`)}]}`)}]`,
    ),
};

/** Those that are only counted. */
export const inputBodies: Record<string, () => string> = {
  "one text": () => respond(`"input":"${text(bytes)}"`),
  "a long conversation": () => respond(turns(mostMessages - 1, share)),
  "long instructions": () => respond(`"input":"a","instructions":"${text(bytes)}"`),
};

export const conversationBodies: Record<string, () => string> = {
  "one item": () => `{"items":[{"role":"user","content":"${text(bytes)}"}]}`,
  "too many items": () => `{"items":[${upTo(keys / 2, '{"role":"user","content":"a"}')}]}`,
  "input text parts": () =>
    `{"items":[{"role":"user","content":[${upTo(keys / 2, '{"type":"input_text","text":"a"}')}]}]}`,
  metadata: () => `{"metadata":{${members(keys, '"a"')}}}`,
};
