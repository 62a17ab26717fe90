/** Log probabilities in the older form: lists side by side, with the place of each token in the text. */
import type { GenerationEvent, TokenLogprob } from "../../../core/ports/chat-engine.ts";
import type { Completion } from "./schema.ts";

export type Logprobs = NonNullable<Completion["choices"][number]["logprobs"]>;
type TextEvent = Extract<GenerationEvent, { type: "text" }>;

/** Lists to write into. */
export const noLogprobs = (): Logprobs => ({
  tokens: [],
  token_logprobs: [],
  top_logprobs: [],
  text_offset: [],
});

/** Follows the text of one choice, since a token's place counts from where it begins. */
export class ChoiceLogprobs {
  #offset = 0;

  /** Those of the next piece; undefined where none are asked for. */
  of({ text, logprobs, echoed }: TextEvent): Logprobs | undefined {
    const start = this.#offset;
    this.#offset += characters(text);
    if (logprobs === undefined) return undefined;
    const all = noLogprobs();
    const places = new TextPlaces(text);
    for (const token of logprobs) {
      // Nothing comes before the first token of a prompt.
      const isFirst = echoed === true && all.tokens.length === 0;
      all.tokens.push(tokenText(token));
      all.token_logprobs.push(isFirst ? null : token.logprob);
      all.top_logprobs.push(isFirst ? null : toTop([...token.top, token]));
      all.text_offset.push(start + places.next(token.bytes));
    }
    return all;
  }
}

/** Where tokens begin in the text that they make. */
class TextPlaces {
  readonly #text: string;
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  /** In UTF-16 units, and in characters. */
  #at = 0;
  #characters = 0;

  constructor(text: string) {
    this.#text = text;
  }

  next(bytes: readonly number[]): number {
    const place = this.#characters;
    const written = this.#decoder.decode(Uint8Array.from(bytes), { stream: true });
    // The space that a tokenizer puts before a text is not in it, and a special token has no text.
    const part = [written, written.replace(/^ /, "")].find((one) =>
      this.#text.startsWith(one, this.#at),
    );
    this.#at += part?.length ?? 0;
    this.#characters += characters(part ?? "");
    return place;
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
