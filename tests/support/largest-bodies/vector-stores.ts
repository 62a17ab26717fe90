/** Bodies of the Vector Stores API. */
import { filterList, nestedFilter } from "./filters.ts";
import { bytes, keys, members, text, times, upTo, values } from "./parts.ts";

/** As many as a request may name. */
const mostFiles = 2000;
const nobody = (at: number): string => `"file-${String(at).padStart(24, "0")}"`;

export const storeBodies: Record<string, () => string> = {
  "files that are none": () => `{"file_ids":[${times(mostFiles, nobody)}]}`,
  "too many files": () => `{"file_ids":[${upTo(values, '"a"')}]}`,
  metadata: () => `{"metadata":{${members(keys, '"a"')}}}`,
  "a long name": () => `{"name":"${text(bytes)}"}`,
};

export const batchBodies: Record<string, () => string> = {
  "files that are none": () => `{"file_ids":[${times(mostFiles, nobody)}]}`,
  "files with attributes": () =>
    `{"files":[${times(mostFiles, (at) => `{"file_id":${nobody(at)},"attributes":{"a":1}}`)}]}`,
  "too many files": () => `{"files":[${upTo(keys, '{"file_id":"a"}')}]}`,
  attributes: () => `{"file_ids":["a"],"attributes":{${members(keys)}}}`,
};

export const storeFileBodies: Record<string, () => string> = {
  "an id": () => `{"file_id":"${text(bytes)}"}`,
  attributes: () => `{"file_id":"a","attributes":{${members(keys)}}}`,
};

export const searchBodies: Record<string, () => string> = {
  "one text": () => `{"query":"${text(bytes)}"}`,
  "sixteen texts": () => `{"query":[${times(16, `"${text(bytes / 16 - 8)}"`)}]}`,
  "too many texts": () => `{"query":[${upTo(values, '"a"')}]}`,
  filters: () => `{"query":"a","filters":${filterList(60)}}`,
  "too many filters": () => `{"query":"a","filters":${filterList(keys / 4)}}`,
  "nested filters": () => `{"query":"a","filters":${nestedFilter(100)}}`,
  "values of a filter": () =>
    `{"query":"a","filters":{"type":"in","key":"a","value":[${upTo(values, "1")}]}}`,
};
