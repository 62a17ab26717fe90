/** For each operation the largest bodies that a node with default limits takes, and those just beyond. */
import { mostKeys, mostValues } from "../../src/server/json-size.ts";

export interface LargeBody {
  path: string;
  /** What it is made of. */
  what: string;
  body: () => string;
}

/** The node's default for `limits.max_body_bytes`, less the rest of the body. */
const bytes = 16 * 1024 * 1024 - 1024;
const mostMessages = 2048;
/** Of these a body has a few beside what it is filled with. */
const [values, keys] = [mostValues - 100, mostKeys - 100];

const times = (count: number, item: string | ((at: number) => string)): string =>
  Array.from({ length: count }, (_, at) => (typeof item === "string" ? item : item(at))).join();
/** As many as fit. */
const filled = (item: string): string => times(Math.floor(bytes / (item.length + 1)), item);
const upTo = (most: number, item: string): string =>
  times(Math.min(most, Math.floor(bytes / (item.length + 1))), item);
const members = (count: number, value = "1"): string =>
  times(count, (at) => `"${String(at).padStart(7, "0")}":${value}`);
const named = (count: number): string => times(count, (at) => `"field${at}":1`);
const text = (length: number): string => "word ".repeat(Math.floor(length / 5));

const chat = (rest: string): string => `{"model":"tiny-chat","max_tokens":1,${rest}}`;
const said = '"messages":[{"role":"user","content":"hello"}]';
const asked = (content: string): string => `"messages":[{"role":"user","content":${content}}]`;
const called = (args: string): string =>
  `"messages":[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":${JSON.stringify(args)}}}]},{"role":"tool","tool_call_id":"c","content":"r"}]`;
const conversation = (count: number, length: number): string =>
  `"messages":[${times(count, (at) => `{"role":"${at % 2 === 0 ? "user" : "assistant"}","content":"${text(length)}"}`)},{"role":"user","content":"hello"}]`;
const share = Math.floor(bytes / mostMessages) - 64;

const schema = (of: () => string): string =>
  `"response_format":{"type":"json_schema","json_schema":{"name":"s","schema":${of()}}}`;
const properties = (): string =>
  `{"type":"object","properties":{${times(Math.floor(keys / 4), (at) => `"p${at}":{"type":"string"}`)}}}`;
const constants = (): string =>
  `{"type":"array","prefixItems":[${times(Math.floor(keys / 4), (at) => `{"const":${at}}`)}]}`;
/** Each level is its next one twice. */
const doubling = (levels = 60): string =>
  `{"type":"object","$defs":{${times(levels, (at) => `"d${at}":{"allOf":[{"$ref":"#/$defs/d${at + 1}"},{"$ref":"#/$defs/d${at + 1}"}]}`)},"d${levels}":{"type":"object"}},"$ref":"#/$defs/d0"}`;

const chatBodies: Record<string, () => string> = {
  "one text": () => chat(asked(`"${text(bytes)}"`)),
  "one word": () => chat(asked(`"${"x".repeat(bytes)}"`)),
  "escaped characters": () => chat(asked(`"${'\\"'.repeat(bytes / 2)}"`)),
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
  "no JSON": () => '{"a":'.repeat(bytes / 5),
  "a text without an end": () => `"${text(bytes)}`,
};

const respond = (rest: string): string =>
  `{"model":"tiny-chat","max_output_tokens":1,"store":false,${rest}}`;
const calledItems = (args: string): string =>
  `"input":[{"role":"user","content":"a"},{"type":"function_call","call_id":"c","name":"f","arguments":${JSON.stringify(args)}},{"type":"function_call_output","call_id":"c","output":"r"}]`;
const turns = (count: number, length: number): string =>
  `"input":[${times(count, (at) => `{"role":"${at % 2 === 0 ? "user" : "assistant"}","content":"${text(length)}"}`)},{"role":"user","content":"hello"}]`;
const hexes = (at: number): string => String(at).padStart(32, "0");

const responseBodies: Record<string, () => string> = {
  "one text": () => respond(`"input":"${text(bytes)}"`),
  "long instructions": () => respond(`"input":"a","instructions":"${text(bytes)}"`),
  "a long conversation": () => respond(turns(mostMessages - 1, share)),
  "a long conversation to truncate": () =>
    respond(`"truncation":"auto",${turns(mostMessages - 1, share)}`),
  "a conversation of short messages to truncate": () =>
    respond(`"truncation":"auto",${turns(mostMessages - 1, 5)}`),
  "too many items": () => respond(`"input":[${upTo(keys / 2, '{"role":"user","content":"a"}')}]`),
  "items that are none": () => respond(`"input":[${upTo(values, "1")}]`),
  "text parts": () =>
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
  metadata: () => respond(`"input":"a","metadata":{${members(keys, '"a"')}}`),
  includes: () => respond(`"input":"a","include":[${upTo(values, '"file_search_call.results"')}]`),
  "fields that nobody knows": () => respond(`"input":"a",${named(keys)}`),
};

/** A conversation as Anthropic's API has it, with a call of these arguments. */
const used = (input: string): string =>
  `"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":${input}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"r"}]}]`;
const format = (of: () => string): string =>
  `"output_config":{"format":{"type":"json_schema","schema":${of()}}}`;

/** Those that make up a prompt, and are counted too. */
const promptBodies: Record<string, () => string> = {
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

const messageBodies: Record<string, () => string> = {
  ...promptBodies,
  "a long grounded conversation": () => chat(`"rag":true,${conversation(mostMessages - 1, share)}`),
  "a schema of many properties": () => chat(`${format(properties)},${said}`),
  "stop sequences": () => chat(`${said},"stop_sequences":[${upTo(values, '"a"')}]`),
  "long stop sequences": () =>
    chat(`${said},"stop_sequences":[${times(16, `"${text(bytes / 16 - 8)}"`)}]`),
};

const embed = (input: string): string => `{"model":"tiny-embedding","input":${input}}`;

const embeddingBodies: Record<string, () => string> = {
  "one text": () => embed(`"${text(bytes)}"`),
  texts: () => embed(`[${times(mostMessages, `"${text(share)}"`)}]`),
  "short texts": () => embed(`[${times(mostMessages, '"hello"')}]`),
  "too many texts": () => embed(`[${upTo(values, '""')}]`),
  "many times true": () => embed(`[${filled("true")}]`),
  "true as often as it may be": () => embed(`[${upTo(values, "true")}]`),
  objects: () => embed(`[${filled("{}")}]`),
  "token ids": () => embed(`[${upTo(values, "1")}]`),
  "more token ids": () => embed(`[${filled("1")}]`),
  "token ids, and a last that is none": () => embed(`[${upTo(values - 1, "1")},true]`),
  "lists of token ids": () => embed(`[${times(mostMessages, `[${times(480, "1")}]`)}]`),
  "short lists of token ids": () => embed(`[${times(mostMessages, `[${times(8, "1")}]`)}]`),
  "lists of token ids, and a last that is none": () =>
    embed(`[${times(mostMessages - 1, `[${times(480, "1")}]`)},[1,"x"]]`),
  "fields that nobody knows": () => `{"model":"tiny-embedding","input":"a",${named(keys)}}`,
  "a model's name": () => `{"model":"${text(bytes)}","input":"a"}`,
};

const rerank = (rest: string): string => `{"model":"tiny-reranker",${rest}}`;

const rerankBodies: Record<string, () => string> = {
  "a long query": () => rerank(`"documents":["a"],"query":"${text(bytes)}"`),
  "one document": () => rerank(`"query":"a","documents":["${text(bytes)}"]`),
  "one word": () => rerank(`"query":"a","documents":["${"x".repeat(bytes)}"]`),
  documents: () => rerank(`"query":"a","documents":[${times(mostMessages, `"${text(share)}"`)}]`),
  "documents that are cut": () =>
    rerank(
      `"query":"a","max_tokens_per_doc":1,"documents":[${times(mostMessages, `"${text(share)}"`)}]`,
    ),
  "short documents": () => rerank(`"query":"a","documents":[${times(mostMessages, '"hello"')}]`),
  "documents that are objects": () =>
    rerank(`"query":"a","documents":[${times(mostMessages, '{"text":"hello"}')}]`),
  "fields of documents": () => rerank(`"query":"a","documents":[{"text":"a",${named(keys)}}]`),
  "too many documents": () => rerank(`"query":"a","documents":[${upTo(values, '""')}]`),
  "documents that are none": () => rerank(`"query":"a","documents":[${upTo(2000, "true")}]`),
  "fields that nobody knows": () => rerank(`"query":"a","documents":["a"],${named(keys)}`),
};

const complete = (rest: string): string => `{"model":"tiny-chat","max_tokens":1,${rest}}`;
const mostPrompts = 128;
const promptShare = Math.floor(bytes / mostPrompts) - 64;

const completionBodies: Record<string, () => string> = {
  "one text": () => complete(`"prompt":"${text(bytes)}"`),
  "one word": () => complete(`"prompt":"${"x".repeat(bytes)}"`),
  "a text of beginnings of special tokens": () => complete(`"prompt":"${"<".repeat(60_000)}"`),
  texts: () => complete(`"prompt":[${times(mostPrompts, `"${text(promptShare)}"`)}]`),
  "short texts": () => complete(`"prompt":[${times(mostPrompts, '"hello"')}]`),
  "short texts, each scored": () =>
    complete(`"echo":true,"logprobs":5,"prompt":[${times(mostPrompts, '"hello"')}]`),
  "a long text, scored": () => complete(`"echo":true,"logprobs":5,"prompt":"${text(2000)}"`),
  "a long text, scored, with many answers": () =>
    complete(`"echo":true,"logprobs":5,"n":20,"prompt":"${text(2000)}"`),
  "long texts, each scored": () =>
    complete(`"echo":true,"logprobs":5,"prompt":[${times(mostPrompts, `"${text(2000)}"`)}]`),
  "long texts, each scored, in a stream": () =>
    complete(
      `"echo":true,"logprobs":5,"stream":true,"prompt":[${times(mostPrompts, `"${text(2000)}"`)}]`,
    ),
  "too many texts": () => complete(`"prompt":[${upTo(values, '""')}]`),
  "more answers than a request may have": () =>
    complete(`"best_of":20,"prompt":[${times(mostPrompts, '"a"')}]`),
  "token ids": () => complete(`"prompt":[${upTo(values, "1")}]`),
  "token ids, and a last that is none": () => complete(`"prompt":[${upTo(values - 1, "1")},true]`),
  "lists of token ids": () =>
    complete(`"prompt":[${times(mostPrompts, `[${times(4000, "300")}]`)}]`),
  "a suffix": () => complete(`"prompt":"a","suffix":"${text(bytes)}"`),
  biases: () => complete(`"prompt":"a","logit_bias":{${members(keys)}}`),
  "long stop texts": () =>
    complete(`"prompt":"a","stop":[${times(4, `"${text(bytes / 4 - 8)}"`)}]`),
  "fields that nobody knows": () => complete(`"prompt":"a",${named(keys)}`),
};

const tokenizeOf = (rest: string): string => `{"model":"tiny-chat",${rest}}`;

const tokenizeBodies: Record<string, () => string> = {
  "one text": () => tokenizeOf(`"prompt":"${text(bytes)}"`),
  "one word": () => tokenizeOf(`"prompt":"${"x".repeat(bytes)}"`),
  "a text that fits": () => tokenizeOf(`"return_token_strs":true,"prompt":"${"xy".repeat(4000)}"`),
  "line breaks": () => tokenizeOf(`"with_pieces":true,"prompt":"${"\\n".repeat(8000)}"`),
  "a long conversation": () => tokenizeOf(conversation(mostMessages - 1, share)),
  "too many messages": () =>
    tokenizeOf(`"messages":[${upTo(keys / 2, '{"role":"user","content":"a"}')}]`),
  "tools that are none": () => tokenizeOf(`${said},"tools":[${upTo(values, "1")}]`),
  "fields that nobody knows": () => tokenizeOf(`"prompt":"a",${named(keys)}`),
};

const detokenizeBodies: Record<string, () => string> = {
  "token ids": () => tokenizeOf(`"tokens":[${upTo(values, "300")}]`),
  "as many as it takes": () => tokenizeOf(`"tokens":[${times(8192, "300")}]`),
  "token ids, and a last that is none": () =>
    tokenizeOf(`"tokens":[${upTo(values - 1, "300")},true]`),
};

const retrieve = (rest: string): string => `{"model":"tiny-embedding",${rest}}`;

const retrieveBodies: Record<string, () => string> = {
  "one text": () => retrieve(asked(`"${text(bytes)}"`)),
  "a long conversation": () => retrieve(conversation(mostMessages - 1, share)),
  "messages that are none": () => retrieve(`"messages":[${upTo(values, "true")}]`),
  "collections that are none": () => retrieve(`${said},"collection":[${upTo(values, '"x"')}]`),
  "nested filters": () => retrieve(`${said},"filters":${nestedFilter(100)}`),
  "a limit of all digits": () => retrieve(`${said},"limit":${"9".repeat(bytes)}`),
};

/** As many as a request may name. */
const mostFiles = 2000;
const nobody = (at: number): string => `"file-${String(at).padStart(24, "0")}"`;
const nestedFilter = (depth: number): string =>
  `${'{"type":"and","filters":['.repeat(depth)}{"type":"eq","key":"a","value":1}${"]}".repeat(depth)}`;
const filterList = (count: number): string =>
  `{"type":"or","filters":[${times(count, '{"type":"eq","key":"a","value":1}')}]}`;

const storeBodies: Record<string, () => string> = {
  "files that are none": () => `{"file_ids":[${times(mostFiles, nobody)}]}`,
  "too many files": () => `{"file_ids":[${upTo(values, '"a"')}]}`,
  metadata: () => `{"metadata":{${members(keys, '"a"')}}}`,
  "a long name": () => `{"name":"${text(bytes)}"}`,
};

const batchBodies: Record<string, () => string> = {
  "files that are none": () => `{"file_ids":[${times(mostFiles, nobody)}]}`,
  "files with attributes": () =>
    `{"files":[${times(mostFiles, (at) => `{"file_id":${nobody(at)},"attributes":{"a":1}}`)}]}`,
  "too many files": () => `{"files":[${upTo(keys, '{"file_id":"a"}')}]}`,
  attributes: () => `{"file_ids":["a"],"attributes":{${members(keys)}}}`,
};

const storeFileBodies: Record<string, () => string> = {
  "an id": () => `{"file_id":"${text(bytes)}"}`,
  attributes: () => `{"file_id":"a","attributes":{${members(keys)}}}`,
};

const searchBodies: Record<string, () => string> = {
  "one text": () => `{"query":"${text(bytes)}"}`,
  "sixteen texts": () => `{"query":[${times(16, `"${text(bytes / 16 - 8)}"`)}]}`,
  "too many texts": () => `{"query":[${upTo(values, '"a"')}]}`,
  filters: () => `{"query":"a","filters":${filterList(60)}}`,
  "too many filters": () => `{"query":"a","filters":${filterList(keys / 4)}}`,
  "nested filters": () => `{"query":"a","filters":${nestedFilter(100)}}`,
  "values of a filter": () =>
    `{"query":"a","filters":{"type":"in","key":"a","value":[${upTo(values, "1")}]}}`,
};

const rpc = (method: string, params: string): string =>
  `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`;
const searching = (wanted: string): string =>
  rpc("tools/call", `{"name":"search_documents","arguments":${wanted}}`);

const mcpBodies: Record<string, () => string> = {
  "a query": () => searching(`{"query":"${text(bytes)}"}`),
  "arguments that nobody knows": () => searching(`{"query":"a",${named(keys)}}`),
  collections: () => searching(`{"query":"a","collections":[${upTo(values, '"a"')}]}`),
  filters: () =>
    searching(
      `{"query":"a","filters":{"type":"and","filters":[${upTo(keys / 4, '{"type":"eq","key":"a","value":1}')}]}}`,
    ),
  "a filter's values": () =>
    searching(`{"query":"a","filters":{"type":"in","key":"a","value":[${upTo(values, "1")}]}}`),
  "a tool's name": () => rpc("tools/call", `{"name":"${text(bytes)}"}`),
  "a resource's address": () => rpc("resources/read", `{"uri":"paddock://${"x".repeat(bytes)}"}`),
  "a cursor": () => rpc("resources/list", `{"cursor":"${"A".repeat(bytes)}"}`),
  "capabilities of a client": () =>
    rpc(
      "initialize",
      `{"protocolVersion":"2025-06-18","clientInfo":{"name":"a","version":"1"},"capabilities":{"experimental":{${members(keys, "{}")}}}}`,
    ),
  "parameters that nobody knows": () => rpc("tools/list", `{"_meta":{${named(keys)}}}`),
  "a method's name": () => rpc(text(bytes), "{}"),
  "an id": () => `{"jsonrpc":"2.0","id":"${text(bytes)}","method":"ping"}`,
  "fields that nobody knows": () => `{"jsonrpc":"2.0","id":1,"method":"ping",${named(keys)}}`,
  "messages that are none": () => `[${upTo(values, "1")}]`,
  "too many messages": () =>
    `[${upTo(keys / 3, '{"jsonrpc":"2.0","id":1,"method":"tools/list"}')}]`,
};

const of = (path: string, bodies: Record<string, () => string>): LargeBody[] =>
  Object.entries(bodies).map(([what, body]) => ({ path, what, body }));

export const largestBodies: readonly LargeBody[] = [
  ...of("/v1/chat/completions", chatBodies),
  ...of("/v1/responses", responseBodies),
  ...of("/v1/messages", messageBodies),
  ...of("/v1/messages/count_tokens", promptBodies),
  ...of("/v1/completions", completionBodies),
  ...of("/v1/tokenize", tokenizeBodies),
  ...of("/v1/detokenize", detokenizeBodies),
  ...of("/v1/embeddings", embeddingBodies),
  ...of("/v1/rerank", rerankBodies),
  ...of("/v2/rerank", { documents: rerankBodies.documents ?? (() => "") }),
  ...of("/v1/retrieve", retrieveBodies),
  ...of("/v1/vector_stores", storeBodies),
  ...of("/v1/vector_stores/vs_default", { metadata: storeBodies.metadata ?? (() => "") }),
  ...of("/v1/vector_stores/vs_default/files", storeFileBodies),
  ...of("/v1/vector_stores/vs_default/file_batches", batchBodies),
  ...of("/v1/vector_stores/vs_default/search", searchBodies),
  ...of("/mcp", mcpBodies),
  // Operations that read no body.
  ...of("/v1/models", { "a list": () => `[${filled("1")}]` }),
  ...of("/v1/info", { "a list": () => `[${filled("1")}]` }),
];
