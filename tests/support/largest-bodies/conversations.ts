/** Conversations as several APIs have them. */
import { text, times } from "./parts.ts";

export const chat = (rest: string): string => `{"model":"tiny-chat","max_tokens":1,${rest}}`;
export const said = '"messages":[{"role":"user","content":"hello"}]';
export const asked = (content: string): string =>
  `"messages":[{"role":"user","content":${content}}]`;
export const conversation = (count: number, length: number): string =>
  `"messages":[${times(count, (at) => `{"role":"${at % 2 === 0 ? "user" : "assistant"}","content":"${text(length)}"}`)},{"role":"user","content":"hello"}]`;
