/** Log probabilities in the older form: lists side by side, with the place of each token in the text. */
import type { GenerationEvent, TokenLogprob } from "../../../core/ports/chat-engine.ts";
import type { Completion } from "./schema.ts";

export type Logprobs = NonNullable<Completion["choices"][number]["logprobs"]>;
type TextEvent = Extract<GenerationEvent, { type: "text" }>;

/** Follows the text of one choice, since a token's place counts from where it begins. */
export class ChoiceLogprobs {
  #offset = 0;

  /** Those of the next piece; undefined where none are asked for. */
  of({ text, logprobs, echoed }: TextEvent): Logprobs | undefined {
    const start = this.#offset;
    this.#offset += characters(text);
    if (logprobs === undefined) return undefined;
    const all: Logprobs = { tokens: [], token_logprobs: [], top_logprobs: [], text_offset: [] };
    const decoder = new TextDecoder();
    let at = start;
    for (const token of logprobs) {
      // Nothing comes before the first token of a prompt.
      const isFirst = echoed === true && all.tokens.length === 0;
      all.tokens.push(tokenText(token));
      all.token_logprobs.push(isFirst ? null : token.logprob);
      all.top_logprobs.push(isFirst ? null : toTop([...token.top, token]));
      // A special token has a name, and no text.
      all.text_offset.push(Math.min(at, this.#offset));
      at += characters(decoder.decode(Uint8Array.from(token.bytes), { stream: true }));
    }
    return all;
  }
}

export function append(all: Logprobs, more: Logprobs): void {
  for (const item of more.tokens) all.tokens.push(item);
  for (const item of more.token_logprobs) all.token_logprobs.push(item);
  for (const item of more.top_logprobs) all.top_logprobs.push(item);
  for (const item of more.text_offset) all.text_offset.push(item);
}

const toTop = (tokens: readonly TokenLogprob[]): Record<string, number> =>
  Object.fromEntries(tokens.map((token) => [tokenText(token), token.logprob]));

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Parts of a character would all look alike, so they are written as their bytes. */
function tokenText({ bytes }: TokenLogprob): string {
  try {
    return strict.decode(Uint8Array.from(bytes));
  } catch {
    return `bytes:${bytes.map((byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join("")}`;
  }
}

/** Code points, as the API counts them. */
function characters(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}
