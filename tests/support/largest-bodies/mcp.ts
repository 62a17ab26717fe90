import { bytes, keys, members, named, text, upTo, values } from "./parts.ts";

const rpc = (method: string, params: string): string =>
  `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`;
const searching = (wanted: string): string =>
  rpc("tools/call", `{"name":"search_documents","arguments":${wanted}}`);

export const mcpBodies: Record<string, () => string> = {
  "a query": () => searching(`{"query":"${text(bytes)}"}`),
  "arguments that nobody knows": () => searching(`{"query":"a",${named(keys)}}`),
  collections: () => searching(`{"query":"a","collections":[${upTo(values, '"a"')}]}`),
  "an agent's filters": () =>
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
  "a message's id": () => `{"jsonrpc":"2.0","id":"${text(bytes)}","method":"ping"}`,
  "fields that nobody knows": () => `{"jsonrpc":"2.0","id":1,"method":"ping",${named(keys)}}`,
  "entries that are no messages": () => `[${upTo(values, "1")}]`,
  "too many messages at once": () =>
    `[${upTo(keys / 3, '{"jsonrpc":"2.0","id":1,"method":"tools/list"}')}]`,
};
