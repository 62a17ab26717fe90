import { bytes, keys, members, named, text, times, upTo, values } from "./parts.ts";

const complete = (rest: string): string => `{"model":"tiny-chat","max_tokens":1,${rest}}`;
const mostPrompts = 128;
const promptShare = Math.floor(bytes / mostPrompts) - 64;

export const completionBodies: Record<string, () => string> = {
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
