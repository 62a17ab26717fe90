/** Bodies of /v1/tokenize and /v1/detokenize. */
import { conversation, said } from "./conversations.ts";
import { bytes, keys, mostMessages, named, share, text, times, upTo, values } from "./parts.ts";

const tokenizeOf = (rest: string): string => `{"model":"tiny-chat",${rest}}`;

export const tokenizeBodies: Record<string, () => string> = {
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

export const detokenizeBodies: Record<string, () => string> = {
  "token ids": () => tokenizeOf(`"tokens":[${upTo(values, "300")}]`),
  "as many as it takes": () => tokenizeOf(`"tokens":[${times(8192, "300")}]`),
  "token ids, and a last that is none": () =>
    tokenizeOf(`"tokens":[${upTo(values - 1, "300")},true]`),
};
