import {
  bytes,
  filled,
  keys,
  mostMessages,
  named,
  share,
  text,
  times,
  upTo,
  values,
} from "./parts.ts";

const embed = (input: string): string => `{"model":"tiny-embedding","input":${input}}`;

export const embeddingBodies: Record<string, () => string> = {
  "one text": () => embed(`"${text(bytes)}"`),
  "texts to embed": () => embed(`[${times(mostMessages, `"${text(share)}"`)}]`),
  "short texts to embed": () => embed(`[${times(mostMessages, '"hello"')}]`),
  "too many texts": () => embed(`[${upTo(values, '""')}]`),
  "many times true": () => embed(`[${filled("true")}]`),
  "true as often as it may be": () => embed(`[${upTo(values, "true")}]`),
  objects: () => embed(`[${filled("{}")}]`),
  "token ids": () => embed(`[${upTo(values, "1")}]`),
  "more token ids": () => embed(`[${filled("1")}]`),
  "token ids, and a last that is none": () => embed(`[${upTo(values - 1, "1")},true]`),
  "lists of token ids to embed": () => embed(`[${times(mostMessages, `[${times(480, "1")}]`)}]`),
  "short lists of token ids": () => embed(`[${times(mostMessages, `[${times(8, "1")}]`)}]`),
  "lists of token ids, and a last that is none": () =>
    embed(`[${times(mostMessages - 1, `[${times(480, "1")}]`)},[1,"x"]]`),
  "fields that nobody knows": () => `{"model":"tiny-embedding","input":"a",${named(keys)}}`,
  "a model's name": () => `{"model":"${text(bytes)}","input":"a"}`,
};
