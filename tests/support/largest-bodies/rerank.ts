import { bytes, keys, mostMessages, named, share, text, times, upTo, values } from "./parts.ts";

const rerank = (rest: string): string => `{"model":"tiny-reranker",${rest}}`;

export const rerankBodies: Record<string, () => string> = {
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
